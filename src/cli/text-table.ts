/** A table for people: columns in line, numbers to the right. Columns are right-aligned where every cell is a number. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, i) => Math.max(name.length, ...rows.map((row) => row[i].length)));
  const right = header.map((_, i) => rows.length > 0 && rows.every((row) => /^-?[\d,.]*%?$/.test(row[i])));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (right[i] ? cell.padStart(widths[i]) : cell.padEnd(widths[i])))
      .join('  ')
      .trimEnd();
  return `${[header, ...rows].map(line).join('\n')}\n`;
}
