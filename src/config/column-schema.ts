import type { StructType } from '../core/schema.ts';
import { SluiceError } from '../errors.ts';

export function parseSchemaText(input: string | object): StructType {
  throw new SluiceError('CONFIG_INVALID', `schema: ${typeof input}`);
}
