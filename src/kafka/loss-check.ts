import { SluiceError } from '../errors.ts';
import type { ClusterView, EpochEndOffset } from './cluster-view.ts';
import { retentionLoss, shrunkLog, truncatedLog } from './errors.ts';
import { skipTo } from './partition-cursor.ts';
import type { RangeState } from './range-state.ts';

/** Times that a position may be out of range though the leader's own offsets say that it is not. */
const OUT_OF_RANGE_TRIES = 5;

interface LogBounds {
  readonly logStart: bigint;
  readonly highWatermark: bigint;
}

/**
 * The bounds of the log at its leader (never at a follower, whose own may lag). ListOffsets answers OFFSET_NOT_AVAILABLE,
 * which is tried again, while a new leader does not know the high watermark of its time yet (KIP-207), so that what it
 * answers is never below what was committed.
 */
async function logBounds(cluster: ClusterView, state: RangeState): Promise<LogBounds> {
  const [end] = await cluster.listOffsets([state.range], 'highWatermark');
  const [start] = await cluster.listOffsets([state.range], 'earliest');
  return { logStart: start.offset, highWatermark: end.offset };
}

/** Throws DATA_LOSS where [position, until) is not all within the log any more. */
async function refuseLoss(cluster: ClusterView, state: RangeState, bounds: LogBounds): Promise<void> {
  const { range, cursor } = state;
  const { logStart, highWatermark } = bounds;
  if (highWatermark < cursor.position || highWatermark < cursor.until) {
    throw shrunkLog(range, cursor.position, logStart, highWatermark);
  }
  if (logStart > cursor.position) {
    const oldest = await oldestTimestamp(cluster, state);
    throw retentionLoss(range, cursor.position, logStart, highWatermark, oldest);
  }
}

/** Only for the words of the error: where it cannot be had, the error stands without it. */
async function oldestTimestamp(cluster: ClusterView, state: RangeState): Promise<bigint | null> {
  try {
    const [first] = await cluster.listOffsets([state.range], { timestampMs: 0n });
    return first.offset >= 0n && first.timestampMs >= 0n ? first.timestampMs : null;
  } catch {
    return null;
  }
}

/** OFFSET_OUT_OF_RANGE: a loss if the leader's own bounds say so; else the answer was of a moment, and is asked again. */
export async function checkOutOfRange(cluster: ClusterView, state: RangeState): Promise<void> {
  const bounds = await logBounds(cluster, state);
  await refuseLoss(cluster, state, bounds);
  state.outOfRangeTries++;
  if (state.outOfRangeTries < OUT_OF_RANGE_TRIES) return;
  throw new SluiceError(
    'BROKER_ERROR',
    `${state.name}: the leader calls offset ${state.cursor.position} out of range, but says that its log is ` +
      `[${bounds.logStart}, ${bounds.highWatermark})`,
    {
      retryable: false,
      context: {
        topic: state.range.topic,
        partition: state.range.partition,
        position: state.cursor.position,
      },
    },
  );
}

/**
 * The broker served nothing at the position. `state.emptyAnswers` counts the answers in a row that prove something: the
 * partition was the first that the broker could fill, where it must return one batch at least if there is any below the
 * end that our isolation level may see (KIP-74), and that end was at or behind `until` before the broker read.
 *
 * Rule: the rest of the range is holes only if the leader itself gave two such answers, and its log start is not above
 * the position (so nothing was deleted but by compaction). Then [position, until) holds no record any more. A log that
 * ends before `until` has lost records. A last stable offset below `until` is an open transaction: it is waited for, under
 * the deadline, and the proof begins anew after it.
 */
export async function checkNothingServed(
  cluster: ClusterView,
  state: RangeState,
  readCommitted: boolean,
): Promise<void> {
  const { cursor } = state;
  const visible = readCommitted
    ? (await cluster.listOffsets([state.range], 'lastStable'))[0].offset
    : undefined;
  const bounds = await logBounds(cluster, state);
  await refuseLoss(cluster, state, bounds);
  const end = visible ?? bounds.highWatermark;
  if (end < cursor.until) {
    throw new SluiceError(
      'BROKER_ERROR',
      `${state.name}: a transaction is still open: the last stable offset is ${end}, and [${cursor.position}, ${cursor.until}) is to be read`,
      {
        retryable: true,
        context: { topic: state.range.topic, partition: state.range.partition, lastStable: end },
      },
    );
  }
  if (!state.fromLeader || state.emptyAnswers < 2) return;
  skipTo(cursor, cursor.until);
  state.progressed();
}

/** Nothing from brokers before 2.0, which cannot be asked by epoch: there the offsets alone must tell. */
async function epochEnds(cluster: ClusterView, asked: readonly RangeState[]): Promise<EpochEndOffset[]> {
  try {
    return await cluster.epochEndOffsets(
      asked.map((s) => ({ topic: s.range.topic, partition: s.range.partition, epoch: s.lastEpoch })),
    );
  } catch (error) {
    if (error instanceof SluiceError && error.code === 'UNSUPPORTED') return [];
    throw error;
  }
}

/** Throws DATA_LOSS where the log was truncated below a position (KIP-320); for those states whose last epoch is known. */
export async function checkTruncation(cluster: ClusterView, states: readonly RangeState[]): Promise<void> {
  const asked = states.filter(
    (s) => s.lastEpoch >= 0 && s.leaderEpoch >= 0 && s.provedEpoch !== s.leaderEpoch,
  );
  if (asked.length === 0) return;
  const answers = await epochEnds(cluster, asked);
  for (const [i, { epoch, endOffset }] of answers.entries()) {
    const state = asked[i];
    // Compared with the end of the batch, not with the position: compaction may have emptied what lies between them.
    if (endOffset < state.lastEpochEnd) {
      throw truncatedLog(state.range, state.lastEpochEnd, state.lastEpoch, epoch, endOffset);
    }
    state.provedEpoch = state.leaderEpoch;
  }
}
