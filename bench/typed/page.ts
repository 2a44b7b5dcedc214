import type { Machine } from '../machine.ts';
import type { TypedScenario } from '../options.ts';
import { drainRows, grouped, mib } from '../page.ts';
import { keepRace } from '../spark/page.ts';
import type { ProfileShare } from './profile.ts';
import type { TypedResult } from './typed.ts';

export interface TypedPageResult extends TypedResult {
  scenario: TypedScenario;
  machine: Machine;
}

const TITLES: Record<TypedScenario, string> = {
  'typed-json': 'typed-json: JSON into columns',
  'typed-avro': 'typed-avro: Avro into columns',
};
const RACE_TITLE = '\n## The race';

/** `page`, as raw and commits write it, with the sections that `previous` has beside: the page as it stood. */
export function keepSections(page: string, previous: string): string {
  return compose(keepRace(page, previous), sectionsOf(previous));
}

/** The page with the section of this result in the place of the one of the same scenario. */
export function withTyped(previous: string, result: TypedPageResult): string {
  const sections = sectionsOf(previous);
  sections.set(result.scenario, typedSection(result));
  return compose(previous, sections);
}

/** The sections in their order, before the race where there is one. */
function compose(page: string, sections: ReadonlyMap<string, string>): string {
  const rest = page.replace(SECTIONS, '').trimEnd();
  const texts = Object.keys(TITLES).flatMap((scenario) => sections.get(scenario) ?? []);
  const at = rest.indexOf(RACE_TITLE);
  const [before, race] = at < 0 ? [rest, ''] : [rest.slice(0, at), rest.slice(at + 1)];
  return `${[before.trim(), ...texts, race].filter((text) => text !== '').join('\n\n')}\n`;
}

/** From a heading to the next of its rank, or to the end of the page. */
const SECTIONS = /(?<=^|\n)## (typed-json|typed-avro): [\s\S]*?(?=\n## |$(?![\s\S]))/g;

function sectionsOf(page: string): Map<string, string> {
  return new Map([...page.matchAll(SECTIONS)].map((match) => [match[1], match[0].trimEnd()]));
}

function typedSection(result: TypedPageResult): string {
  const { machine, scenario } = result;
  return [
    `## ${TITLES[scenario]}`,
    `\`npm run bench -- --scenario ${scenario} --write\`. Measured on ${machine.date} on ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; Node.js
${machine.node}, zstd ${machine.zstd}, Sluice ${machine.sluice}, seed ${machine.seed}; the load average of the 15 minutes before the end was ${result.loadAverage.toFixed(1)}. A topic
of ${grouped(result.records)} ${valuesOf(result)} in ${result.partitions} partitions, record batches in ${result.codec},
is drained by \`sluice run --available-now\` with ${result.workers} workers and \`memory: ${result.memory}\` in batches of ${result.batchRecords === 0 ? 'all there is' : `${grouped(result.batchRecords)} records`}
into a typed table of twelve columns (five strings, two longs, an int, a decimal, a double, a boolean, a timestamp) and four
of provenance, partitioned by \`days(ts)\`, zstd level 1; one record of fifty is up to a day late, so that the partition
changes all the time. Measured is the whole process from its start, all threads together; \`sluice verify\` proves every
run.${scenario === 'typed-avro' ? ' The registry is a small server in the process of the benchmark, asked once.' : ''} The medians by records per CPU second:`,
    `| | |
|---|---|
${drainRows(result)}| peak resident memory of all runs | ${mib(result.peakRssBytes)} |
${smallRows(result)}`,
    ...readerTable(result),
    ...profileTable(result.profile),
  ]
    .map((text) => text.trimEnd())
    .join('\n\n');
}

function valuesOf({ scenario, valueBytes }: TypedPageResult): string {
  return scenario === 'typed-json'
    ? `JSON documents of 12 fields and ${valueBytes} bytes`
    : `Avro records of 12 fields in the registry's frame (as JSON ${valueBytes} bytes each)`;
}

function smallRows({ small }: TypedResult): string {
  if (small === undefined) return '';
  const { memory, peakRssBytes, recordsPerCpuSecond } = small;
  return `| with \`memory: ${memory}\`: peak, records per CPU second | ${mib(peakRssBytes)}, ${grouped(Math.round(recordsPerCpuSecond))} |\n`;
}

function readerTable({ readers, duckdbRatios: ratios, recordsPerCpuSecond }: TypedResult): string[] {
  if (readers === undefined || ratios === undefined) return [];
  const { duckdb, decoder, duckdbVersion } = readers;
  const row = (name: string, ours: number, theirs: number, ratio: number): string =>
    `| ${name} | ${grouped(Math.round(ours))} | ${grouped(Math.round(theirs))} | **${ratio.toFixed(2)}** |\n`;
  return [
    `DuckDB ${duckdbVersion} read the same documents from a file, one a line, by \`read_json\` with the same columns and types, each time
in a process of its own in the same run; so did Sluice's decoder, on one thread. DuckDB has no Kafka to read, no checksum
to check, no offsets to account for. Records per CPU second, starts of the processes counted:`,
    `| | Sluice | DuckDB | ratio |
|---|---|---|---|
${row('the reader alone: every column read, nothing kept', decoder.recordsPerCpuSecond, duckdb.read.recordsPerCpuSecond, ratios.decoder)}\
${row('the drain; DuckDB from zstd into Parquet (zstd) by day', recordsPerCpuSecond, duckdb.partitioned.recordsPerCpuSecond, ratios.partitioned)}\
${row('the drain; DuckDB from plain text into one Parquet file (zstd)', recordsPerCpuSecond, duckdb.parquet.recordsPerCpuSecond, ratios.parquet)}`,
  ];
}

function profileTable(profile: readonly ProfileShare[] | undefined): string[] {
  if (profile === undefined) return [];
  const rows = profile.map(({ part, share }) => `| ${part} | ${(share * 100).toFixed(1)} % |\n`).join('');
  return [
    'Where the time goes, by the samples of V8 of all threads in one more run (`--profile`):',
    `| | share |
|---|---|
${rows}`,
  ];
}
