import type { BytesVector } from '../../columns/vector.ts';
import { SluiceError } from '../../errors.ts';
import { hasConfluentFrame, schemaIdAt } from '../frame.ts';

/** Which schemas a block needs that a decoder does not have, and which the registry does not know. */
export class MissingSchemas {
  private readonly unknown = new Set<number>();

  /** The registry does not know the id, until `forget`. */
  markUnknown(id: number): void {
    this.unknown.add(id);
  }

  known(id: number): void {
    this.unknown.delete(id);
  }

  /** After each block: an id that was unknown is asked for again. */
  forget(): void {
    this.unknown.clear();
  }

  /** Ids in the frames of a block that are neither in `schemas` nor marked. No registry gives negative ones: they are not asked for. */
  of(values: BytesVector, schemas: ReadonlyMap<number, unknown>): number[] {
    const missing = new Set<number>();
    const { data, starts, length } = values;
    let last: number | undefined;
    for (let row = 0; row < length; row++) {
      const start = starts[row] + 4;
      if (!hasConfluentFrame(data, start, starts[row + 1])) continue;
      const id = schemaIdAt(data, start);
      if (id === last) continue;
      last = id;
      if (id >= 0 && !schemas.has(id) && !this.unknown.has(id)) missing.add(id);
    }
    return [...missing];
  }

  /** Throws INTERNAL for an id that was never asked for. */
  assertUnknown(id: number): void {
    if (id >= 0 && !this.unknown.has(id))
      throw new SluiceError(
        'INTERNAL',
        `schema ${id} was neither given to the decoder nor marked as unknown`,
      );
  }
}
