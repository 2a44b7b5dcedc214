import { RACE_SCENARIOS } from './options.ts';
import type { RaceResult } from './race.ts';
import { medianOf, type RaceRun } from './race-result.ts';

const HEAD = `## The race: Sluice against Spark

\`npm run bench -- --vs spark --scenario NAME --write\` writes the section of a scenario. The same job by both in turn, on the
same topic of the same broker on the same cores: \`sluice run --available-now\`, and Spark Structured Streaming in
\`local[2]\` with a driver of 2 GB, Trigger.AvailableNow, Iceberg's streaming append without shuffle (distribution none,
fanout writers). Both read all that there is in one batch into a table on the local disk, zstd level 1; Sluice commits to a
sqlite catalog, Spark to a hadoop catalog. The table of the raw scenarios is a bronze table by dt and hour. Those of
\`typed-json\` and \`typed-avro\` have twelve decoded columns and four of provenance, by \`days(ts)\`; Spark decodes with
\`from_json\` and the columns as its schema, with \`from_avro\` and the writer's schema behind the five bytes of the
registry's frame; Sluice asks a small registry in the process of the benchmark. After each run PyIceberg plans and DuckDB
reads what is in the table: the count and a checksum over all columns (but the time of ingestion) of all rows must be the
same for both. Time is that of the whole process from its start to its end; without start-up it is from the durable plan of
the first batch (\`offsets/0\` in the checkpoint) to the durable end of the last (\`commits/N\`). Memory is the greatest sum
of the resident memory of all processes of the run. The ratios are Sluice over Spark, the median over the pairs: where other
work has the cores too (a load average far above their number), the seconds say little, but both of a pair met about the
same.
`;

/** `page`, as the other benchmarks write it, with the sections of the race that `previous` has: the page as it stood. */
export function keepRace(page: string, previous: string): string {
  const sections = sectionsOf(previous);
  return sections.size === 0 ? page : compose(page, sections);
}

const TITLE = `# Benchmarks

Written by \`npm run bench -- --write\`; do not edit. \`npm run bench -- --help\` lists the options.
`;

/** The page with the section of this result in the place of the one of the same scenario and number of records; "" where there is no page yet. */
export function withRace(previous: string, result: RaceResult): string {
  const sections = sectionsOf(previous);
  sections.set(titleOf(result), raceSection(result));
  const end = previous.indexOf(`\n${HEAD.slice(0, HEAD.indexOf('\n'))}\n`);
  return compose(end < 0 ? previous || TITLE : previous.slice(0, end), sections);
}

function compose(page: string, sections: ReadonlyMap<string, string>): string {
  const names = Object.keys(RACE_SCENARIOS);
  const place = (title: string): [number, number] => {
    const [name, records] = title.split(/, (.*)/);
    return [names.indexOf(name), Number(records.replace(/\D/g, ''))];
  };
  const titles = [...sections.keys()].sort((a, b) => {
    const [left, right] = [place(a), place(b)];
    return left[0] - right[0] || left[1] - right[1];
  });
  const texts = titles.map((title) => sections.get(title));
  return `${page.trimEnd()}\n\n${HEAD}${texts.join('')}`;
}

/** Title -> its section, from its heading to the next or the end of the page. */
function sectionsOf(page: string): Map<string, string> {
  const found = page.matchAll(/\n### Race: (\S+, [\d,]+ records)\n[\s\S]*?(?=\n##|$(?![\s\S]))/g);
  return new Map([...found].map((match) => [match[1], `${match[0].trimEnd()}\n`]));
}

function titleOf({ scenario, records }: RaceResult): string {
  return `${scenario}, ${grouped(records, 0)} records`;
}

function recordsOf({ scenario, valueBytes }: RaceResult): string {
  if (scenario === 'typed-avro')
    return `Avro records in the registry's frame, of the fields of JSON documents of ${valueBytes} bytes,`;
  return scenario === 'typed-json'
    ? `JSON documents of ${valueBytes} bytes`
    : `Records of ${valueBytes} bytes`;
}

function raceSection(result: RaceResult): string {
  const { machine, versions, ratios, runs } = result;
  const row = (
    name: string,
    show: (run: RaceRun) => number,
    digits: number,
    ratio: number | undefined,
  ): string => {
    const cells = (['sluice', 'spark'] as const).map((who) =>
      grouped(medianOf(runs.map((pair) => show(pair[who]))), digits),
    );
    return `| ${name} | ${cells.join(' | ')} | ${ratio === undefined ? '' : `**${ratio.toFixed(2)}**`} |\n`;
  };
  return `
### Race: ${titleOf(result)}

${recordsOf(result)} in ${result.partitions} partition${result.partitions === 1 ? '' : 's'} (codec ${result.codec}), ${runs.length} pair${runs.length === 1 ? '' : 's'} of runs. Measured on ${machine.date} on
${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB; Node.js ${machine.node}, Sluice ${machine.sluice} with ${result.workers} workers and \`memory: ${result.memory}\`; PySpark
${versions.pyspark}, ${versions.icebergRuntime}, ${versions.kafkaSource}${result.scenario === 'typed-avro' ? `, ${versions.avro}` : ''}; seed ${machine.seed}. The load average of the 15 minutes before the end
was ${result.loadAverage.toFixed(1)}, the race's own load included.

| medians | Sluice | Spark | ratio |
|---|---|---|---|
${row('records a second, start-up counted', (run) => run.recordsPerSecond, 0, ratios.recordsPerSecond)}\
${row('records a second without start-up', (run) => run.recordsPerSecondSteady, 0, ratios.recordsPerSecondSteady)}\
${row('records per CPU second, start-up counted', (run) => run.recordsPerCpuSecond, 0, ratios.recordsPerCpuSecond)}\
${row('peak resident memory, MiB', (run) => run.peakRssBytes / 1048576, 0, ratios.peakRss)}\
${row('seconds to the first commit', (run) => run.secondsToFirstCommit, 2, ratios.firstCommit)}\
${row('seconds in all', (run) => run.seconds, 2, undefined)}\
${row('data files', (run) => run.dataFiles, 0, undefined)}\
${row('MB of data files', (run) => run.dataFileBytes / 1e6, 0, ratios.dataFileBytes)}`;
}

function grouped(n: number, digits: number): string {
  return n.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
