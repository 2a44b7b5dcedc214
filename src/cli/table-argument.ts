import { SluiceError } from '../errors.ts';

/** A table as a person names it on the command line. Throws USAGE. */
export function tableArgument(text: string): string {
  const parts = text.split('.');
  if (parts.length >= 2 && !parts.includes('')) return text;
  throw new SluiceError(
    'USAGE',
    `${JSON.stringify(text)} is no name of a table: expected namespace.name, such as bronze.ad_clicks; sluice table list shows those that there are`,
  );
}

/** The same for an argument that may be repeated, as commander calls it. */
export function tableArguments(text: string, before: readonly string[] = []): string[] {
  return [...before, tableArgument(text)];
}
