/** What may stand before the first statement of a file. */
const BLANKS = /^(?:\s|\uFEFF|\/\/[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/;
const STATEMENT = /^(?:syntax|edition)\s*=\s*(?:"([^"\\]*)"|'([^'\\]*)')/;

/** `proto2`, `proto3` or an edition such as `2023`; a file that does not say it is proto2. */
export function syntaxOf(text: string): string {
  const found = STATEMENT.exec(text.replace(BLANKS, ''));
  return found?.[1] ?? found?.[2] ?? 'proto2';
}
