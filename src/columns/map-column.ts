import { EntriesColumn } from './entries-column.ts';
import type { GrowingColumn } from './growing-column.ts';
import type { MapVector } from './vector.ts';

/** A growing column of maps. Append the entries of a row to `key` and `value`, then `endRow`; or `appendNull`. */
export class MapColumn extends EntriesColumn implements MapVector {
  readonly kind = 'map';
  readonly key: GrowingColumn;
  readonly value: GrowingColumn;

  constructor(key: GrowingColumn, value: GrowingColumn) {
    super();
    this.key = key;
    this.value = value;
  }

  protected override entryCount(): number {
    return this.key.length;
  }

  protected override truncateEntries(count: number): void {
    this.key.truncate(count);
    this.value.truncate(count);
  }

  protected override clearEntries(): void {
    this.key.clear();
    this.value.clear();
  }
}
