import { setImmediate as turn } from 'node:timers/promises';
import type { Producer } from '../../kafka/produce.ts';
import { type AdEventOptions, generateAdEvents } from './ad-events.ts';

export interface Produced {
  records: number;
  /** Keys and values, before compression. */
  bytes: number;
  seconds: number;
}

/** The loop of events is left so often, so that batches go out and acknowledgements come in beside it. */
const EVENTS_PER_TURN = 500;

/** Produces ad events and waits until the brokers have all of them. `onProgress` is called often. */
export async function produceEvents(
  producer: Producer,
  options: AdEventOptions,
  onProgress: (records: number) => void,
): Promise<Produced> {
  const startedAt = performance.now();
  let records = 0;
  let bytes = 0;
  for (const event of generateAdEvents(options)) {
    const room = producer.append(event);
    bytes += event.key.length + event.value.length;
    records++;
    if (room !== undefined) await room;
    if (records % EVENTS_PER_TURN !== 0) continue;
    onProgress(records);
    await turn();
  }
  await producer.flush();
  return { records, bytes, seconds: (performance.now() - startedAt) / 1000 };
}
