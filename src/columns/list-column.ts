import { EntriesColumn } from './entries-column.ts';
import type { GrowingColumn } from './growing-column.ts';
import type { ListVector } from './vector.ts';

/** A growing column of lists. Append the elements of a row to `element`, then `endRow`; or `appendNull`. */
export class ListColumn extends EntriesColumn implements ListVector {
  readonly kind = 'list';
  readonly element: GrowingColumn;

  constructor(element: GrowingColumn) {
    super();
    this.element = element;
  }

  protected override entryCount(): number {
    return this.element.length;
  }

  protected override truncateEntries(count: number): void {
    this.element.truncate(count);
  }

  protected override clearEntries(): void {
    this.element.clear();
  }
}
