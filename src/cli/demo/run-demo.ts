import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PipelineConfig } from '../../config/pipeline-config.ts';
import { formatDuration } from '../../core/duration.ts';
import { stringifyJson64 } from '../../core/json64.ts';
import { topicPartitionKey } from '../../core/topic-partition.ts';
import type { RunSummary } from '../../engine/host.ts';
import { kafkaClient } from '../../engine/kafka-client.ts';
import { SluiceError } from '../../errors.ts';
import type { ListedOffset } from '../../kafka/cluster.ts';
import { Producer } from '../../kafka/produce.ts';
import { count } from '../../monitor/progress-line.ts';
import { type VerifyReport, verifyTable } from '../../proof/verify-table.ts';
import { catalogPlace, withCatalog } from '../catalog-view.ts';
import { dataTables, openCheckpointReadOnly } from '../checkpoint-view.ts';
import type { CliContext, Out, OutputFormat } from '../context.ts';
import { loadFor } from '../pipeline-option.ts';
import {
  batchText,
  loadRunModules,
  quarantinedText,
  type RunModules,
  refuseAbandoned,
  runHere,
} from '../pipeline-run.ts';
import { refuseDifferences } from '../verify-text.ts';
import { AD_TOPICS } from './ad-events.ts';
import { type DemoTable, demoReport, removeReport, reportPath, writeReport } from './demo-report.ts';
import { readTables } from './demo-tables.ts';
import {
  type DemoPlaces,
  fact,
  nextText,
  placesText,
  producedText,
  proofText,
  rate,
  tablesText,
  topicsText,
} from './demo-text.ts';
import { endsOf, ensureTopics } from './demo-topics.ts';
import { produceEvents } from './produce-events.ts';

export interface DemoOptions {
  bootstrapServers: string;
  /** As the person named it; relative to the working directory. */
  directory: string;
  topicPrefix: string;
  records: number;
  output: OutputFormat;
}

const SEED = 4;
/** A person waits for the demo, so brokers that do not answer are given up early. */
const REQUEST_DEADLINE_MS = 15_000;
const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const PIPELINE_FILE = join(PACKAGE, 'examples', 'ad-events-bronze', 'sluice.yaml');

/**
 * The demo: makes the topics, produces ad events behind those that are there, runs the example's pipeline to the end as
 * `sluice run --available-now` would, proves from the tables that each offset arrived once, and writes `report.json`. While
 * it runs, and after a failure, there is no report. Throws what the pipeline throws, and VERIFY_DIFFERENCE.
 */
export async function runDemo(context: CliContext, options: DemoOptions): Promise<void> {
  const modules = loadRunModules();
  const directory = resolve(context.cwd, options.directory);
  await removeReport(directory);
  const out = options.output === 'json' ? context.stderr : context.stdout;
  const topics = AD_TOPICS.map((topic) => options.topicPrefix + topic);
  const env = {
    ...context.env,
    SLUICE_HOME: directory,
    AD_TOPICS: topics.join(','),
    KAFKA_BOOTSTRAP_SERVERS: options.bootstrapServers,
  };
  const pipelineFile = shownPath(context, PIPELINE_FILE);
  const { config } = await loadFor({ ...context, env }, { config: pipelineFile, set: [] }, [
    'trigger.availableNow=true',
  ]);
  out.write(
    `${heading(context, out, 'Ad events from Kafka into Iceberg tables, each offset exactly once')}\n\n`,
  );
  const ends = await fill(context, out, config, options);
  const summary = await run(context, out, config, pipelineFile, modules);
  if (summary.stopped === 'asked') {
    out.write('\nStopped as asked. The next run goes on from the checkpoint; no report was written.\n');
    context.exitCode = 130;
    return;
  }
  const { tables, proofs } = await look(context, config);
  out.write(`\n${heading(context, out, 'Tables')}\n${tablesText(tables)}`);
  out.write(`\n${heading(context, out, 'Proof')}: ${proofLine(proofs)}\n${proofText(proofs)}`);
  refuseUnread(ends, proofs);
  const report = demoReport(summary, tables, proofs);
  await writeReport(directory, report);
  refuseDifferences(proofs);
  const places = placesOf(context, config, directory, pipelineFile, tables);
  out.write(`\n${heading(context, out, 'Where things are')}\n${placesText(places)}`);
  out.write(`\n${heading(context, out, 'What to try next')}\n${nextText(places)}`);
  if (options.output === 'json') context.stdout.write(`${stringifyJson64(report)}\n`);
}

/** Makes the topics and puts events into them. Returns where the partitions end then. */
async function fill(
  context: CliContext,
  out: Out,
  config: PipelineConfig,
  options: DemoOptions,
): Promise<ListedOffset[]> {
  const producer = await Producer.connect({
    client: {
      ...kafkaClient(config),
      clientId: 'sluice-demo',
      requestDeadlineMs: Math.min(REQUEST_DEADLINE_MS, config.source.requestDeadlineMs),
    },
    codec: 'lz4',
  });
  try {
    const { cluster } = producer;
    out.write(fact('Kafka', `${options.bootstrapServers}, cluster ${cluster.clusterId ?? 'without an id'}`));
    // Events for a pipeline that will not read them are of no use: it says itself why it stops.
    if (await isOfAnotherCluster(context, config, cluster.clusterId)) return [];
    const demoTopics = await ensureTopics(
      cluster,
      AD_TOPICS.map((topic) => options.topicPrefix + topic),
    );
    out.write(fact('Topics', topicsText(demoTopics)));
    // An event is a function of its number, and the numbers go on where the topics end.
    const before = await endsOf(cluster, demoTopics.topics);
    const firstSequence = before.reduce((sum, end) => sum + Number(end.offset), 0);
    for (const { topic } of demoTopics.topics) await producer.prepare(topic);
    const events = {
      count: options.records,
      seed: SEED,
      firstSequence,
      topicPrefix: options.topicPrefix,
    };
    const line = new ProducingLine(context.stderr, options.records);
    const produced = await produceEvents(producer, events, (records) => line.update(records));
    line.clear();
    out.write(fact('Produced', producedText(produced, firstSequence)));
    return await endsOf(cluster, demoTopics.topics);
  } finally {
    await producer.close();
  }
}

/** Was the newest batch of the checkpoint planned on another cluster? */
async function isOfAnotherCluster(
  context: CliContext,
  config: PipelineConfig,
  clusterId: string | null,
): Promise<boolean> {
  const checkpoint = await openCheckpointReadOnly(config, context);
  const plan = checkpoint.latestPlanned === null ? null : await checkpoint.plan(checkpoint.latestPlanned);
  const known = plan?.clusterId ?? null;
  return known !== null && clusterId !== null && known !== clusterId;
}

async function run(
  context: CliContext,
  out: Out,
  config: PipelineConfig,
  pipelineFile: string,
  modules: Promise<RunModules>,
): Promise<RunSummary> {
  out.write(fact('Pipeline', `${pipelineFile}, until nothing is left (availableNow)`));
  const summary = await runHere(
    context,
    config,
    {
      logFormat: 'text',
      logLevel: 'warn',
      acceptQuarantine: false,
      progressLine: true,
      onBatch: (report) => out.write(fact('', batchText(report))),
    },
    modules,
  );
  refuseAbandoned(summary);
  const { records, batches, seconds, quarantined } = summary;
  const odd = quarantinedText(quarantined);
  out.write(
    fact(
      'Read',
      `${count(records)} records${odd} in ${batches} ${batches === 1 ? 'batch' : 'batches'}, ${formatDuration(seconds * 1000)}${rate(records, seconds)}`,
    ),
  );
  return summary;
}

/** Reads what is in the tables now, and proves it against the checkpoint. */
async function look(
  context: CliContext,
  config: PipelineConfig,
): Promise<{ tables: DemoTable[]; proofs: VerifyReport[] }> {
  const checkpoint = await openCheckpointReadOnly(config, context);
  const names = await dataTables(checkpoint);
  return withCatalog(config, async (view) => {
    const tables = await readTables(view, names);
    const proofs: VerifyReport[] = [];
    for (const name of names)
      proofs.push(await verifyTable({ checkpoint, ...view }, name, { countBy: 'source' }));
    return { tables, proofs };
  });
}

function proofLine(proofs: readonly VerifyReport[]): string {
  const sum = (of: (proof: VerifyReport) => bigint | number): bigint =>
    proofs.reduce((total, proof) => total + BigInt(of(proof)), 0n);
  const word = proofs.every((proof) => proof.ok)
    ? 'each offset arrived exactly once'
    : 'NOT every offset arrived exactly once';
  const quarantined = sum((proof) => proof.quarantined);
  const odd = quarantined > 0n ? `, ${count(quarantined)} quarantined` : '';
  return `${word} (${count(sum((proof) => proof.rows))} rows${odd}, ${count(sum((proof) => proof.lost))} lost, ${count(sum((proof) => proof.duplicated))} doubled)`;
}

/** The tables hold what was read; here, that all was read which the topics held when the events were in them. */
function refuseUnread(ends: readonly ListedOffset[], proofs: readonly VerifyReport[]): void {
  const read = new Map<string, bigint>();
  for (const p of proofs.flatMap((proof) => proof.partitions)) {
    const until = p.ranges.reduce((most, range) => (range.until > most ? range.until : most), 0n);
    read.set(topicPartitionKey(p.topic, p.partition), until);
  }
  const unread = ends.filter(
    (end) => (read.get(topicPartitionKey(end.topic, end.partition)) ?? 0n) < end.offset,
  );
  if (unread.length === 0) return;
  const places = unread.map((end) => {
    const key = topicPartitionKey(end.topic, end.partition);
    return `${key} ends at ${end.offset} and was read to ${read.get(key) ?? 0n}`;
  });
  throw new SluiceError('VERIFY_DIFFERENCE', places.join('; '), { context: { partitions: places } });
}

function placesOf(
  context: CliContext,
  config: PipelineConfig,
  directory: string,
  pipelineFile: string,
  tables: readonly DemoTable[],
): DemoPlaces {
  const shown = (path: string): string => shownPath(context, path);
  const inRepository = resolve(context.cwd) === resolve(PACKAGE) && existsSync(join(PACKAGE, 'src'));
  return {
    directory: shown(directory),
    pipelineFile,
    catalogName: config.catalog.name,
    catalog: shown(catalogPlace(config)),
    warehouse: shown(config.catalog.warehouse),
    checkpoint: shown(config.checkpointLocation),
    report: shown(reportPath(directory)),
    cli: inRepository ? 'npm run -s sluice --' : 'sluice',
    table: (tables.find(({ name }) => name.endsWith('clicks')) ?? tables[0]).name,
  };
}

/** As it is from the working directory where it lies below it, else in full. */
function shownPath(context: CliContext, path: string): string {
  const below = relative(context.cwd, path);
  return below === '' || below.startsWith('..') ? path : below;
}

/** Bold on a terminal. */
function heading(context: CliContext, out: Out, text: string): string {
  const plain = !out.terminal || context.env.NO_COLOR || context.env.TERM === 'dumb';
  return plain ? text : `\x1b[1m${text}\x1b[22m`;
}

const LINE_INTERVAL_MS = 100;

/** On a terminal, how far the producing is. */
class ProducingLine {
  private readonly out: Out;
  private readonly total: number;
  private drawnAt = Number.NEGATIVE_INFINITY;

  constructor(out: Out, total: number) {
    this.out = out;
    this.total = total;
  }

  update(records: number): void {
    if (!this.out.terminal || performance.now() - this.drawnAt < LINE_INTERVAL_MS) return;
    this.drawnAt = performance.now();
    this.out.write(`\r\x1b[2Kproducing ${count(records)} of ${count(this.total)}`);
  }

  clear(): void {
    if (Number.isFinite(this.drawnAt)) this.out.write('\r\x1b[2K');
  }
}
