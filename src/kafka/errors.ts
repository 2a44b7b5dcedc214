import type { OffsetRange } from '../core/offset-range.ts';
import { type ErrorCode, messageOf, SluiceError } from '../errors.ts';
import { BROKER_ERROR, brokerErrorKind, brokerErrorName } from './broker-errors.ts';

/** The other end of a connection, as errors name it. */
export interface Peer {
  readonly address: string;
  /** Who the broker takes us for: `User:alice`. */
  readonly principal: string;
}

/**
 * A broker's error code as our error: KAFKA_AUTH for credentials and rights, BROKER_ERROR else; `retryable` as the code
 * is. `context.kafkaError` holds the code, so that callers branch on it and never on the text.
 */
export function brokerError(
  code: number,
  doing: string,
  peer: string | Peer,
  context: Record<string, unknown> = {},
  detail = '',
): SluiceError {
  const kind = brokerErrorKind(code);
  const broker = typeof peer === 'string' ? peer : peer.address;
  const right = missingRight(code, typeof peer === 'string' ? null : peer.principal, context.topic);
  const ours: ErrorCode = kind === 'auth' ? 'KAFKA_AUTH' : 'BROKER_ERROR';
  return new SluiceError(
    ours,
    `${doing}: broker ${broker} answered ${brokerErrorName(code)}${right}${detail}`,
    {
      retryable: kind === 'retry' || kind === 'leader',
      context: { ...context, broker, kafkaError: code },
    },
  );
}

/** A partition that nobody leads: which replicas it has, and which of them are down, is what a person needs to mend it. */
export function leaderless(
  code: number,
  peer: Peer,
  at: { topic: string; partition: number; replicas: readonly number[]; offline: readonly number[] },
): SluiceError {
  const name = `${at.topic}-${at.partition}`;
  const brokers = at.replicas.map((id) => (at.offline.includes(id) ? `${id} (down)` : `${id}`)).join(', ');
  const where =
    at.replicas.length === 1
      ? `its only replica is on broker ${brokers}`
      : `its replicas are on brokers ${brokers}`;
  const detail = at.replicas.length === 0 ? '' : `: ${name} has no leader now; ${where}`;
  return brokerError(code, `asking for the leader of ${name}`, peer, at, detail);
}

/** What an ACL would have to allow, and how it is said to Kafka's own tool. */
function missingRight(code: number, principal: string | null, topic: unknown): string {
  const who = principal ?? 'the principal of this client';
  if (code === BROKER_ERROR.CLUSTER_AUTHORIZATION_FAILED) return `; ${who} lacks a right on the cluster`;
  if (code !== BROKER_ERROR.TOPIC_AUTHORIZATION_FAILED) return '';
  const acl = `kafka-acls --add --allow-principal ${principal?.startsWith('User:') ? principal : 'User:NAME'} --operation Read --topic ${topic ?? 'TOPIC'}`;
  return `; ${who} lacks a right on the topic. To read it takes Read, which gives Describe too: \`${acl}\``;
}

/** The broker's error code behind an error; undefined where it did not come from a broker's answer. */
export function kafkaErrorOf(error: unknown): number | undefined {
  const code = error instanceof SluiceError ? error.context.kafkaError : undefined;
  return typeof code === 'number' ? code : undefined;
}

/**
 * A connection that could not be made, or broke; the request on it may or may not have been applied. `closedAt`: how far
 * it had come when the broker closed it, where that was before it was of any use.
 */
export function connectionError(
  address: string,
  reason: string,
  cause?: unknown,
  closedAt?: string,
): SluiceError {
  return new SluiceError('BROKER_UNREACHABLE', `broker ${address}: ${reason}`, {
    retryable: true,
    outcome: 'unknown',
    context: { broker: address, ...(closedAt === undefined ? {} : { closedAt }) },
    cause,
  });
}

/** What was still being tried when the deadline passed. Keeps the kind of the last error. */
export function deadlineError(
  doing: string,
  elapsedMs: number,
  tries: number,
  last: unknown,
  deadline = 'kafka.request.deadline',
): SluiceError {
  const code: ErrorCode =
    last instanceof SluiceError && last.code !== 'BROKER_UNREACHABLE' ? last.code : 'BROKER_UNREACHABLE';
  const context = last instanceof SluiceError ? last.context : {};
  return new SluiceError(
    code,
    `gave up ${doing} after ${(elapsedMs / 1000).toFixed(1)} s and ${tries} tries (${deadline}); ` +
      `the last error was: ${messageOf(last)}`,
    { retryable: true, context: { ...context, doing, elapsedMs, tries }, cause: last },
  );
}

/** Records of [position, logStart) are gone: retention, or a person, deleted them before they were read (case C12). */
export function retentionLoss(
  range: OffsetRange,
  position: bigint,
  logStart: bigint,
  highWatermark: bigint,
  oldestTimestampMs: bigint | null,
): SluiceError {
  const { topic, partition } = range;
  const age =
    oldestTimestampMs === null
      ? ''
      : `, whose oldest record is of ${new Date(Number(oldestTimestampMs)).toISOString()}`;
  return new SluiceError(
    'DATA_LOSS',
    `${topic}-${partition}: offsets [${position}, ${logStart}) (${logStart - position} offsets) were deleted before they ` +
      `were read; the log is now [${logStart}, ${highWatermark})${age}. Nothing was skipped. ` +
      `\`sluice checkpoint reset --topic ${topic} --to unread\` previews how to go on`,
    {
      context: {
        topic,
        partition,
        from: position,
        until: logStart,
        count: logStart - position,
        logStart,
        highWatermark,
        oldestTimestampMs,
      },
    },
  );
}

/** The log ends before the offset that we must read, though it once was longer. */
export function shrunkLog(
  range: OffsetRange,
  position: bigint,
  logStart: bigint,
  highWatermark: bigint,
): SluiceError {
  const { topic, partition } = range;
  const wanted =
    highWatermark < position ? `position ${position}` : `offset ${range.until}, the end of the planned range`;
  return new SluiceError(
    'DATA_LOSS',
    `${topic}-${partition}: log end ${highWatermark} < ${wanted}: was the topic recreated, or restored from an older copy? ` +
      `The log is now [${logStart}, ${highWatermark}). \`sluice checkpoint reset --topic ${topic} --to unread\` previews how to go on`,
    { context: { topic, partition, from: position, until: range.until, logStart, highWatermark } },
  );
}

/** OffsetForLeaderEpoch says that the records of the epoch we read end before our position (spec 20, KIP-320). */
export function truncatedLog(
  range: OffsetRange,
  position: bigint,
  epoch: number,
  foundEpoch: number,
  endOffset: bigint,
): SluiceError {
  const { topic, partition } = range;
  const found =
    foundEpoch < 0 ? 'it does not know that epoch' : `epoch ${foundEpoch} ends at offset ${endOffset}`;
  return new SluiceError(
    'DATA_LOSS',
    `${topic}-${partition}: the log was truncated: records up to offset ${position} were read in leader epoch ${epoch}, ` +
      `but the leader says that ${found}. \`sluice checkpoint reset --topic ${topic} --to unread\` previews how to go on`,
    { context: { topic, partition, from: position, until: range.until, epoch, foundEpoch, endOffset } },
  );
}

/** The topic of that name is another one than before. */
export function topicReplaced(topic: string, expected: string, found: string): SluiceError {
  return new SluiceError(
    'TOPIC_REPLACED',
    `topic ${topic} was deleted and created anew: its id was ${expected}, now it is ${found}; its offsets mean other records. ` +
      `\`sluice checkpoint reset --topic ${topic} --to earliest\` previews how to go on with the new topic`,
    { context: { topic, expected, found } },
  );
}
