import { addSums, stretchSum } from '../core/gap-sum.ts';
import { forEachGap } from './gap-text.ts';
import { Malformed } from './malformed.ts';

/** What a record says of the offsets [from, until) of one partition. */
export interface OffsetAccount {
  topic: string;
  partition: number;
  from: bigint;
  until: bigint;
  rows: number;
  quarantined: number;
  dropped: number;
  control: number;
  aborted: number;
  holes: number;
  gaps: string;
  gapsCut: boolean;
  /** Only in the ledger, where lost ranges are a part of [from, until). */
  lost?: readonly { from: bigint; until: bigint }[];
  lostOffsets?: bigint;
  lostCut?: boolean;
  gapSum: number;
}

/**
 * A record's counts, its list of gaps and its checksum say the same thing three times: a record where they differ was
 * damaged, and nothing could be proven by it. Throws Malformed.
 */
export function checkAccount(account: OffsetAccount): void {
  const { from, until, lost = [], lostOffsets = 0n } = account;
  const name = `${account.topic}-${account.partition} [${from}, ${until})`;
  const absent = account.dropped + account.control + account.aborted + account.holes;
  const total = BigInt(account.rows + account.quarantined + absent) + lostOffsets;
  if (from < 0n || until < from || total !== until - from)
    throw new Malformed(`${name}: its counts add up to ${total}, expected ${until - from}`);
  let sum = 0;
  const list = (what: string, stretch: { from: bigint; until: bigint }): bigint => {
    if (stretch.from < from || stretch.until > until || stretch.until <= stretch.from)
      throw new Malformed(`${name}: ${what} [${stretch.from}, ${stretch.until}) is not a part of it`);
    sum = addSums(sum, stretchSum(Number(stretch.from), Number(stretch.until)));
    return stretch.until - stretch.from;
  };
  let gapOffsets = 0n;
  forEachGap(account.gaps, (a, b) => {
    gapOffsets += list('the gap', { from: a, until: b });
  });
  checkListed(name, 'gaps', gapOffsets, BigInt(absent), account.gapsCut);
  const listedLost = lost.reduce((n, stretch) => n + list('the lost range', stretch), 0n);
  checkListed(name, 'lost offsets', listedLost, lostOffsets, account.lostCut === true);
  if (!account.gapsCut && account.lostCut !== true && sum !== account.gapSum)
    throw new Malformed(`${name}: its gaps have the checksum ${sum}, expected ${account.gapSum}`);
}

function checkListed(name: string, what: string, listed: bigint, counted: bigint, cut: boolean): void {
  if (cut ? listed > counted : listed !== counted)
    throw new Malformed(`${name}: it lists ${listed} ${what} and counts ${counted}`);
}
