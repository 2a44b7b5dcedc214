import { SluiceError } from '../../errors.ts';

/** Beyond these a schema is refused: no table has so much, and what is read of it is bounded by them. */
export const SCHEMA_LIMITS = {
  textLength: 1 << 20,
  fields: 10_000,
  depth: 100,
  nameLength: 1_000,
  pathLength: 1 << 24,
} as const;

/** Where something stands in a text, both from 1; `column` counts UTF-16 units. */
export interface TextPlace {
  line: number;
  column: number;
}

export function placeAt(text: string, at: number): TextPlace {
  let line = 1;
  let lineStart = 0;
  for (let i = text.indexOf('\n'); i !== -1 && i < at; i = text.indexOf('\n', i + 1)) {
    line++;
    lineStart = i + 1;
  }
  return { line, column: at - lineStart + 1 };
}

/** CONFIG_INVALID, with the place in the text where it is known, also as `line` and `column` of the context. */
export function schemaFault(message: string, place?: TextPlace): SluiceError {
  const where = place === undefined ? 'schema' : `schema ${place.line}:${place.column}`;
  return new SluiceError('CONFIG_INVALID', `${where}: ${message}`, { context: { ...place } });
}
