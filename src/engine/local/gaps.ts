/** Offsets [from, until). */
export interface OffsetStretch {
  from: bigint;
  until: bigint;
}

/** Stretches that are listed one by one; beyond it only their counts are kept. */
export const MAX_GAPS = 10_000;

/** Adds an offset that is greater than all before it. */
export function addOffset(stretches: OffsetStretch[], offset: bigint): void {
  const last = stretches[stretches.length - 1];
  if (last !== undefined && last.until === offset) last.until = offset + 1n;
  else if (stretches.length <= MAX_GAPS) stretches.push({ from: offset, until: offset + 1n });
}

/**
 * The stretches of a range that have no row: those that the log does not serve and those that a rule dropped, each
 * ascending and disjoint, as one ascending list of at most MAX_GAPS.
 */
export function uniteGaps(
  holes: readonly OffsetStretch[],
  dropped: readonly OffsetStretch[],
  holesCut: boolean,
): { gaps: OffsetStretch[]; gapsCut: boolean } {
  const gaps: OffsetStretch[] = [];
  let gapsCut = holesCut || dropped.length > MAX_GAPS;
  for (const stretch of [...holes, ...dropped].sort((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = gaps[gaps.length - 1];
    if (last !== undefined && last.until === stretch.from) last.until = stretch.until;
    else if (gaps.length < MAX_GAPS) gaps.push({ ...stretch });
    else gapsCut = true;
  }
  return { gaps, gapsCut };
}
