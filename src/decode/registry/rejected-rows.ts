import type { BytesColumn } from '../../columns/bytes-column.ts';
import type { TypedColumn } from '../../columns/create-column.ts';
import type { StructColumn } from '../../columns/struct-column.ts';
import type { IcebergType, NestedField } from '../../core/schema.ts';
import type { DecodeMode } from '../../core/value-format.ts';
import { SluiceError } from '../../errors.ts';
import { appendBinary, appendText } from '../append-bytes.ts';
import type { DecodeFault } from '../value-decoder.ts';

/**
 * What becomes of the records of a block that cannot be decoded, by the mode. Texts are appended unsealed, as the decoders of
 * binary formats leave them until the end of the block.
 */
export class RejectedRows {
  readonly faults: DecodeFault[] = [];
  readonly dropped: number[] = [];
  private readonly root: StructColumn;
  private readonly mode: DecodeMode;
  private readonly corruptAt: number;
  private readonly corruptIsText: boolean;
  /** Whether a row of nulls can stand for a record at fault. */
  private readonly takesNullRows: boolean;

  /** Throws CONFIG_INVALID where the column for corrupt records is no string and no binary. */
  constructor(
    columns: readonly NestedField[],
    root: StructColumn,
    format: { readonly mode: DecodeMode; readonly corruptRecordColumn: string | null },
  ) {
    this.root = root;
    this.mode = format.mode;
    this.corruptAt = columns.findIndex((field) => field.name === format.corruptRecordColumn);
    const corrupt = columns[this.corruptAt] as NestedField | undefined;
    if (corrupt !== undefined && corrupt.type !== 'string' && corrupt.type !== 'binary')
      throw new SluiceError(
        'CONFIG_INVALID',
        `the column ${corrupt.name} for corrupt records is no string and no binary`,
      );
    this.corruptIsText = corrupt?.type === 'string';
    const isRequired = columns.some((field, i) => field.required && i !== this.corruptAt);
    this.takesNullRows = format.mode === 'permissive' && !isRequired;
  }

  clear(): void {
    this.faults.length = 0;
    this.dropped.length = 0;
  }

  /**
   * Drops what the record has left in the columns and fills its row. Under `permissive` the column for corrupt records gets
   * its bytes: as they are in a binary column, in base64 in a text column.
   */
  reject(fault: DecodeFault, value: Uint8Array): void {
    this.root.truncate(fault.row);
    if (this.takesNullRows) {
      this.appendCorrupt(value);
      return;
    }
    this.root.appendNull();
    if (this.mode === 'dropmalformed') this.dropped.push(fault.row);
    else this.faults.push(fault);
  }

  private appendCorrupt(value: Uint8Array): void {
    for (const [i, column] of (this.root.fields as readonly TypedColumn[]).entries()) {
      if (i !== this.corruptAt) column.appendNull();
      else if (this.corruptIsText) {
        const base64 = Buffer.from(value.buffer, value.byteOffset, value.length).toString('base64');
        const text = Buffer.from(base64, 'latin1');
        appendText(column as BytesColumn, text, 0, text.length);
      } else appendBinary(column as BytesColumn, value, 0, value.length);
    }
    this.root.endRow();
  }
}

/** The columns that hold text, at every level. */
export function textColumns(type: IcebergType, column: TypedColumn): BytesColumn[] {
  if (typeof type === 'string') return type === 'string' ? [column as BytesColumn] : [];
  if (type.type === 'struct' && column.kind === 'struct')
    return type.fields.flatMap((field, i) => textColumns(field.type, column.fields[i] as TypedColumn));
  if (type.type === 'list' && column.kind === 'list')
    return textColumns(type.element, column.element as TypedColumn);
  if (type.type === 'map' && column.kind === 'map')
    return [
      ...textColumns(type.key, column.key as TypedColumn),
      ...textColumns(type.value, column.value as TypedColumn),
    ];
  return [];
}
