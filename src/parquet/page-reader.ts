import type { ColumnSink } from './column-sink.ts';
import type { FileChunk } from './file-metadata.ts';
import type { FileColumn } from './file-schema.ts';
import { PageCursor } from './page-cursor.ts';

/** Reads a column chunk of one value per row. */
export class PageReader {
  private readonly column: FileColumn;
  private readonly sink: ColumnSink;
  private readonly pages: PageCursor;

  /** `bytes` are the whole chunk. */
  constructor(column: FileColumn, chunk: FileChunk, bytes: Uint8Array, sink: ColumnSink) {
    this.column = column;
    this.sink = sink;
    this.pages = new PageCursor(column, chunk, bytes, sink);
  }

  /** Appends exactly `rows` rows to the sink. */
  read(rows: number): void {
    const { pages } = this;
    for (let left = rows; left > 0; ) {
      if (pages.entriesLeft === 0) {
        pages.next();
        continue;
      }
      let take = Math.min(left, pages.entriesLeft);
      if (pages.definitions === undefined) {
        pages.readValues(take);
      } else {
        take = pages.definitions.takeRun(take);
        if (pages.definitions.value === this.column.maxDefinitionLevel) pages.readValues(take);
        else this.sink.appendNulls(take);
      }
      pages.entriesLeft -= take;
      left -= take;
    }
  }
}
