import { SluiceError } from '../../errors.ts';
import type { OffsetChoice } from './quarantine-table.ts';

/** `topic/partition/offset`, or `topic/partition/from-until`: offsets [from, until). Throws USAGE. */
export function parseOffsetChoice(text: string): OffsetChoice {
  const match = /^([A-Za-z0-9._-]{1,249})\/(\d{1,10})\/(\d{1,19})(?:-(\d{1,19}))?$/.exec(text);
  if (match !== null) {
    const from = BigInt(match[3]);
    const until = match[4] === undefined ? from + 1n : BigInt(match[4]);
    if (until > from && until <= 2n ** 63n - 1n)
      return { topic: match[1], partition: Number(match[2]), from, until };
  }
  throw new SluiceError(
    'USAGE',
    `"${text}" is no place in a topic: expected TOPIC/PARTITION/OFFSET, or TOPIC/PARTITION/FROM-UNTIL for the offsets from FROM on and below UNTIL, such as ad-clicks/0/100-200`,
  );
}
