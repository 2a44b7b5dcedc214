import type { RegisteredSchema } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import type { SchemaBody, SchemaReference } from './registry-answer.ts';

export const MAX_REFERENCES = 1000;
export const MAX_REFERENCE_DEPTH = 64;
export const MAX_REFERENCE_CHARACTERS = 32 * 1024 * 1024;

/** The schema of a version of a subject; throws REGISTRY_SCHEMA where the registry does not have it. */
export type FetchVersion = (reference: SchemaReference) => Promise<SchemaBody>;

/**
 * Everything that a schema refers to, a referred one before who refers to it. One name stands for one schema: where two
 * references give it to different ones the nearer to the root holds, as in Confluent's clients. `root` is for messages.
 * Throws REGISTRY_SCHEMA for circles, for more than 1000 references, 64 levels or 32 million characters.
 */
export async function resolveReferences(
  root: string,
  references: readonly SchemaReference[],
  fetchVersion: FetchVersion,
): Promise<RegisteredSchema['references']> {
  const resolved = new Map<string, string>();
  const onPath: string[] = [];
  let count = 0;
  let characters = 0;

  const visit = async (list: readonly SchemaReference[]): Promise<void> => {
    for (const reference of list) {
      const key = `${reference.subject} version ${reference.version}`;
      if (onPath.includes(key))
        throw unusable(root, `its references go in a circle: ${[...onPath, key].join(' -> ')}`);
      if (resolved.has(reference.name)) continue;
      if (++count > MAX_REFERENCES) throw unusable(root, `it refers to more than ${MAX_REFERENCES} schemas`);
      if (onPath.length === MAX_REFERENCE_DEPTH)
        throw unusable(
          root,
          `its references are nested deeper than ${MAX_REFERENCE_DEPTH}: ${onPath.join(' -> ')}`,
        );
      const body = await fetchVersion(reference);
      characters += body.schema.length;
      if (characters > MAX_REFERENCE_CHARACTERS)
        throw unusable(root, `what it refers to has more than ${MAX_REFERENCE_CHARACTERS} characters`);
      onPath.push(key);
      await visit(body.references);
      onPath.pop();
      // Set after what it refers to: a Map keeps the order of setting.
      if (!resolved.has(reference.name)) resolved.set(reference.name, body.schema);
    }
  };
  await visit(references);
  return [...resolved].map(([name, schema]) => ({ name, schema }));
}

/** REGISTRY_SCHEMA about one schema. */
export function unusable(root: string, what: string): SluiceError {
  return new SluiceError('REGISTRY_SCHEMA', `${root} cannot be used: ${what}`, { context: { schema: root } });
}
