/** Checks between the options that say what is read, from where, and how much at once. */
import { compileTopicRegex } from '../core/topic-regex.ts';
import { isSluiceError } from '../errors.ts';
import { shown } from './check.ts';
import type { Report } from './fault.ts';
import type { StartingOffsets } from './option-types.ts';
import { isMap } from './source-tree.ts';
import type { Values } from './values.ts';

export function checkSource(values: Values, fault: Report, warn: Report): void {
  checkSelection(values, fault, warn);
  checkPattern(values, fault);
  checkStart(values, fault, warn);
  checkLimits(values, fault, warn);
}

const SELECTIONS = 'exactly one of subscribe, subscribePattern and assign says what is read';

function checkSelection(values: Values, fault: Report, warn: Report): void {
  const given = ['subscribe', 'assign', 'subscribePattern'].filter((key) => values.has('source', key));
  for (const key of given.slice(1))
    fault('CONTRADICTION', ['source', key], `${given[0]} is given too; ${SELECTIONS}`);
  if (given.length === 0 && isMap((values.map('') as { source?: unknown }).source)) {
    fault('MISSING_OPTION', ['source', 'subscribe'], `${SELECTIONS}: subscribe: topic-a,topic-b`);
  }
  const subscribed = values.get<string[]>('source', 'subscribe');
  if (subscribed !== undefined && subscribed.length === 0)
    fault('WRONG_VALUE', ['source', 'subscribe'], 'expected at least one topic, found none');
  const topics = subscribed ?? [...(values.get<Map<string, number[]>>('source', 'assign')?.keys() ?? [])];
  const path = ['source', values.has('source', 'subscribe') ? 'subscribe' : 'assign'];
  for (const topic of new Set(topics)) {
    if (!/^[A-Za-z0-9._-]{1,249}$/.test(topic) || topic === '.' || topic === '..') {
      const pattern = /[*?|[(]/.test(topic) ? '; subscribePattern takes a pattern' : '';
      fault(
        'WRONG_VALUE',
        path,
        `${shown(topic)} cannot be the name of a topic: 1 to 249 of a-z, A-Z, 0-9, ".", "_", "-"${pattern}`,
      );
    }
  }
  if (new Set(topics).size !== topics.length) warn('LINT', path, 'a topic is named twice; it is read once');
}

function checkPattern(values: Values, fault: Report): void {
  const pattern = values.get<string>('source', 'subscribePattern');
  if (pattern === undefined) return;
  try {
    compileTopicRegex(pattern);
  } catch (error) {
    if (!isSluiceError(error, 'CONFIG_INVALID')) throw error;
    fault('WRONG_VALUE', ['source', 'subscribePattern'], error.message.slice('CONFIG_INVALID: '.length));
  }
}

function checkStart(values: Values, fault: Report, warn: Report): void {
  const order = ['startingTimestamp', 'startingOffsetsByTimestamp', 'startingOffsets'];
  const [first, ...others] = order.filter((key) => values.has('source', key));
  for (const key of others) warn('NO_EFFECT', ['source', key], `no effect: ${first} has precedence`);
  if (values.has('source', 'startingOffsetsByTimestampStrategy') && !/Timestamp$/.test(first ?? ''))
    warn(
      'NO_EFFECT',
      ['source', 'startingOffsetsByTimestampStrategy'],
      'no effect: neither startingTimestamp nor startingOffsetsByTimestamp is given',
    );
  const starting = values.get<StartingOffsets>('source', 'startingOffsets');
  if (starting?.kind === 'map') checkNames(values, 'startingOffsets', starting.offsets, fault);
  const times = values.get<Map<string, Map<number, bigint>>>('source', 'startingOffsetsByTimestamp');
  if (times !== undefined) checkNames(values, 'startingOffsetsByTimestamp', times, fault);
}

/** A map of partitions names exactly what is read, as in Spark. Which topics a pattern takes only the run knows. */
function checkNames(
  values: Values,
  key: string,
  map: ReadonlyMap<string, ReadonlyMap<number, bigint>>,
  fault: Report,
): void {
  const path = ['source', key];
  const assigned = values.get<Map<string, number[]>>('source', 'assign');
  const topics = assigned === undefined ? values.get<string[]>('source', 'subscribe') : [...assigned.keys()];
  if (topics === undefined) return;
  const missing = topics.filter((topic) => !map.has(topic));
  const surplus = [...map.keys()].filter((topic) => !topics.includes(topic));
  for (const [topic, partitions] of assigned ?? []) {
    const named = map.get(topic);
    if (named === undefined) continue;
    missing.push(...partitions.filter((p) => !named.has(p)).map((p) => `${topic}-${p}`));
    surplus.push(...[...named.keys()].filter((p) => !partitions.includes(p)).map((p) => `${topic}-${p}`));
  }
  if (missing.length > 0)
    fault(
      'CONTRADICTION',
      path,
      `the map must name exactly what is read; it lacks ${missing.slice(0, 5).join(', ')}`,
    );
  if (surplus.length > 0)
    fault(
      'CONTRADICTION',
      path,
      `the map must name exactly what is read; not read: ${surplus.slice(0, 5).map(shown).join(', ')}`,
    );
}

function checkLimits(values: Values, fault: Report, warn: Report): void {
  const min = values.get<bigint>('source', 'minOffsetsPerTrigger');
  const max = values.get<bigint | 'auto'>('source', 'maxOffsetsPerTrigger');
  if (min !== undefined && typeof max === 'bigint' && min > max)
    fault(
      'CONTRADICTION',
      ['source', 'minOffsetsPerTrigger'],
      `${min} is more than maxOffsetsPerTrigger, ${max}`,
    );
  if (min === undefined && values.has('source', 'maxTriggerDelay'))
    warn(
      'NO_EFFECT',
      ['source', 'maxTriggerDelay'],
      'no effect: it bounds the wait for minOffsetsPerTrigger, which is not given',
    );
}
