/** SLUICE_THOROUGH=1 (set by `npm run prove`): everything is tried that the quick form tries one of a few of. */
export const THOROUGH = process.env.SLUICE_THOROUGH === '1';

/** One of how many cases is tried. */
export function everyNth(quick: number): number {
  return THOROUGH ? 1 : quick;
}
