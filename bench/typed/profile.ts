import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A part of a run by what the threads were seen at, in the order of the page. */
export interface ProfileShare {
  part: string;
  /** Of all samples in which a thread was not idle; of all parts 1 together. */
  share: number;
}

/** What V8 writes by `--cpu-prof`, one file for each thread; only what is read here. */
export interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

/** Parts by the place of the code: the first that fits. */
const PARTS: readonly [string, (url: string, functionName: string) => boolean][] = [
  ['zstd of the record batches', (url) => url.includes('/src/kafka/codecs/')],
  ['reading from Kafka: connection, CRC, records', (url) => url.includes('/src/kafka/')],
  ['decoding values into columns', (url) => url.includes('/src/decode/') || url.includes('/src/columns/')],
  ['partitions, hand-over to files', (url) => url.includes('/src/engine/local/')],
  ['zstd of the pages', (url) => url.endsWith('/src/parquet/zstd-compressor.ts')],
  ['Parquet: pages, levels, dictionaries, metrics', (url) => url.includes('/src/parquet/')],
  ['garbage collection', (_, name) => name === '(garbage collector)'],
  ['start, plan, commit, the rest', () => true],
];

/** Adds up the threads of a run. @param directory with the profiles of its threads, nothing else that ends so */
export function readProfiles(directory: string): ProfileShare[] {
  const files = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'));
  return sharesOf(files.map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as CpuProfile));
}

/** By the own time of each function. @throws Error where no thread was ever seen at work */
export function sharesOf(profiles: readonly CpuProfile[]): ProfileShare[] {
  const micros = PARTS.map(() => 0);
  let total = 0;
  for (const { nodes, samples, timeDeltas } of profiles) {
    const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
    for (let i = 0; i < samples.length; i++) {
      const frame = frames.get(samples[i]);
      if (frame === undefined || frame.functionName === '(idle)') continue;
      micros[PARTS.findIndex(([, fits]) => fits(frame.url, frame.functionName))] += timeDeltas[i];
      total += timeDeltas[i];
    }
  }
  if (total === 0) throw new Error('the profiles hold no sample of a thread at work');
  return PARTS.map(([part], i) => ({ part, share: micros[i] / total }));
}
