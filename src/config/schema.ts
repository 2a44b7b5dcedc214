/** The strict schema of a pipeline file, made of the declarations in `options.ts`; and its JSON Schema. */
import { z } from 'zod';
import type { Option, Section } from './option.ts';
import { optionSchema } from './option-types.ts';
import { OPTIONS, optionsOf, SECTION_DOCS } from './options.ts';

function fieldSchema(option: Option): z.ZodType {
  const described = optionSchema(option.type).meta({ description: describe(option) });
  if (option.default !== undefined) return described.prefault(option.default);
  return option.required === true ? described : described.optional();
}

function describe(option: Option): string {
  const notes = [option.doc];
  if (option.unit !== undefined) notes.push(`A bare number counts ${option.unit}.`);
  if (option.secret === true) notes.push('A secret: give it as env:NAME, file:/path or exec:command.');
  if (option.env !== undefined) notes.push(`Also as the variable ${option.env}.`);
  if (option.noEffect !== undefined) notes.push(`No effect: ${option.noEffect}.`);
  return notes.join(' ');
}

function sectionSchema(section: Section): z.ZodType {
  const shape: Record<string, z.ZodType> = {};
  for (const option of optionsOf(section)) shape[option.key] = fieldSchema(option);
  if (section === 'tables[]') {
    shape.value = sectionSchema('tables[].value').optional();
    shape.key = sectionSchema('tables[].key').optional();
    shape.route = sectionSchema('tables[].route').optional();
  }
  return z.strictObject(shape).meta({ description: SECTION_DOCS[section] });
}

/** Sections that may be left out as a whole, because each of their options may be. */
function optional(section: Section): z.ZodType {
  return sectionSchema(section).prefault({});
}

export function pipelineSchema(): z.ZodType {
  const shape: Record<string, z.ZodType> = {};
  for (const option of optionsOf('')) shape[option.key] = fieldSchema(option);
  return z.strictObject({
    ...shape,
    catalog: sectionSchema('catalog'),
    trigger: optional('trigger'),
    source: sectionSchema('source'),
    tables: z
      .array(sectionSchema('tables[]'))
      .min(1)
      .meta({ description: SECTION_DOCS['tables[]'] })
      .prefault([{ match: '*' }]),
    registry: optional('registry'),
    quarantine: optional('quarantine'),
    shutdown: optional('shutdown'),
    retention: optional('retention'),
    progress: optional('progress'),
    http: optional('http'),
  });
}

interface JsonSchemaNode {
  properties: Record<string, JsonSchemaNode>;
  patternProperties?: object;
  anyOf?: object[];
  description?: string;
  [key: string]: unknown;
}

/** The JSON Schema of a pipeline file, for editors: `# yaml-language-server: $schema=...`. */
export function pipelineJsonSchema(): object {
  const schema = z.toJSONSchema(pipelineSchema(), {
    io: 'input',
    target: 'draft-7',
  }) as unknown as JsonSchemaNode;
  // Two things that zod's objects cannot say: names by pattern, and the short form of a trigger.
  schema.properties.source.patternProperties = {
    '^kafka\\.': {
      type: ['string', 'number', 'boolean'],
      description: 'Any other option of a Kafka client.',
    },
  };
  const rule = (schema.properties.tables.items as JsonSchemaNode).properties;
  for (const part of ['value', 'key'] as const) {
    const { description, ...map } = rule[part];
    rule[part] = { description, anyOf: [map, { type: 'string' }] } as unknown as JsonSchemaNode;
  }
  const { description, default: byDefault, ...map } = schema.properties.trigger;
  schema.properties.trigger = {
    description,
    default: byDefault,
    anyOf: [map, { type: 'string', enum: ['availableNow', 'once'] }],
  } as unknown as JsonSchemaNode;
  schema.properties.catalog.allOf = [
    {
      if: { properties: { type: { const: 'file' } }, required: ['type'] },
      // biome-ignore lint/suspicious/noThenProperty: a word of JSON Schema
      then: { properties: { uri: false } },
      else: { required: ['uri'] },
    },
  ];
  return { title: 'Sluice pipeline', ...schema };
}

/** Every top-level key of a file. */
export function topLevelKeys(): string[] {
  const keys = OPTIONS.map((option) =>
    option.section === '' ? option.key : option.section.replace(/\[\].*/, ''),
  );
  return [...new Set(keys)];
}
