/**
 * Every option of a pipeline file, once: `schema.ts` makes the strict schema of it, `docs/options.md` and `schema.json`
 * are generated from it, and tests keep them equal. Options under `source` have Spark's own names (spec 20).
 */
import { KAFKA_OPTIONS, KAFKA_UNSUPPORTED } from './kafka-options.ts';
import { type Option, optionPath, type Section, type UnsupportedOption } from './option.ts';
import { TABLE_OPTIONS } from './table-options.ts';

const SINCE = '0.1.0';
const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;

export const SECTION_DOCS: Readonly<Record<Section, string>> = {
  '': 'The pipeline',
  catalog: 'The catalog of the Iceberg tables',
  trigger: 'When the next batch begins; exactly one of them',
  source: "What is read from Kafka; Spark's own names",
  'tables[]': 'Where the records go: a list of rules, the first whose `match` fits the topic wins',
  quarantine: 'What happens with records that cannot be decoded',
  shutdown: 'How a run ends',
  retention: 'How long the checkpoint keeps its batches',
  progress: 'The progress objects that are kept beside the checkpoint',
  http: 'The HTTP interface (not in this version)',
};

const pipeline: Option[] = [
  {
    section: '',
    key: 'name',
    doc: "The pipeline's name. It stands in the snapshots that the pipeline commits; its id is the uuid in the checkpoint.",
    type: {
      kind: 'text',
      pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
      what: 'a name of letters, digits, `.`, `_` and `-` (at most 128)',
    },
    required: true,
    since: SINCE,
  },
  {
    section: '',
    key: 'engine',
    doc: 'What runs the pipeline: this process.',
    type: { kind: 'choice', values: ['local'] },
    default: 'local',
    since: SINCE,
  },
  {
    section: '',
    key: 'memory',
    doc: 'Bounds the buffers of all workers together. Node itself takes about 150 MB beside it.',
    type: { kind: 'bytes', min: 32 * MIB, max: 1024 * 1024 * MIB },
    default: '512MB',
    unit: 'bytes',
    since: SINCE,
    env: 'SLUICE_MEMORY',
  },
  {
    section: '',
    key: 'checkpointLocation',
    doc: 'The directory that says how far the pipeline has read. Relative to the working directory. One pipeline, one checkpoint.',
    type: { kind: 'text' },
    required: true,
    since: SINCE,
  },
  {
    section: '',
    key: 'alerts',
    doc: 'Alerts are not in this version: only an empty list is accepted.',
    type: { kind: 'emptyList' },
    default: [],
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'type',
    doc: 'The kind of catalog.',
    type: { kind: 'choice', values: ['sqlite'] },
    required: true,
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'name',
    doc: '`catalog_name` in the tables of the SQL catalog; another client must give the same name to see the tables.',
    type: { kind: 'text', pattern: /^.{1,255}$/s, what: 'a text of at most 255 characters' },
    default: 'sluice',
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'uri',
    doc: 'The database file of the catalog, created where it is missing.',
    type: { kind: 'text' },
    required: true,
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'warehouse',
    doc: 'The directory under which tables are created.',
    type: { kind: 'text' },
    required: true,
    since: SINCE,
  },
  {
    section: 'trigger',
    key: 'processingTime',
    doc: 'A batch each time this long has passed since the last one began; at once where the last one took longer. The default trigger, with 60 seconds.',
    type: { kind: 'duration', min: 0, max: 7 * DAY_MS },
    unit: 'ms',
    since: SINCE,
    lint: (ms: number) =>
      ms < 10_000
        ? 'a batch more often than every 10 seconds makes many small files, which slow every reader down; 60 seconds is a good beginning'
        : undefined,
  },
  {
    section: 'trigger',
    key: 'availableNow',
    doc: 'Read what is there at the start, in as many batches as the limits ask for, and end.',
    type: { kind: 'flag' },
    since: SINCE,
  },
  { section: 'trigger', key: 'once', doc: 'One batch, and end.', type: { kind: 'flag' }, since: SINCE },
];

const source: Option[] = [
  {
    section: 'source',
    key: 'subscribe',
    doc: 'The topics, with commas between or as a list. Exactly one of subscribe, subscribePattern and assign.',
    type: { kind: 'list' },
    since: SINCE,
  },
  {
    section: 'source',
    key: 'subscribePattern',
    doc: "A Java regular expression: every topic whose whole name matches is read, also one that appears while the pipeline runs, from its earliest offset. Spark's newer versions take a match of any part of the name: write `.*orders.*` for that. Kafka's internal topics are left out unless the pattern is the very name of one. `(?i)` at the beginning is understood; what JavaScript cannot do (possessive quantifiers, atomic groups, `&&` in a class) is refused.",
    type: { kind: 'text' },
    since: SINCE,
  },
  {
    section: 'source',
    key: 'assign',
    doc: 'Partitions of topics, `{"topic":[0,1]}`: several processes share a topic so, each with its own checkpoint.',
    type: { kind: 'assignment' },
    since: SINCE,
  },
  {
    section: 'source',
    key: 'startingOffsets',
    doc: 'Where to begin, only where the checkpoint holds nothing. A map names exactly the assigned partitions; -2 is earliest, -1 latest.',
    type: { kind: 'startingOffsets' },
    default: 'latest',
    since: SINCE,
  },
  {
    section: 'source',
    key: 'startingTimestamp',
    doc: 'Begin at the first record of each partition whose time is not before this one, only where the checkpoint holds nothing. Takes the place of startingOffsetsByTimestamp and startingOffsets.',
    type: { kind: 'timestamp' },
    unit: 'ms since 1970',
    since: SINCE,
  },
  {
    section: 'source',
    key: 'startingOffsetsByTimestamp',
    doc: 'The same with a time for each partition; it names exactly the partitions that are read. Takes the place of startingOffsets.',
    type: { kind: 'timestamps' },
    since: SINCE,
  },
  {
    section: 'source',
    key: 'startingOffsetsByTimestampStrategy',
    doc: 'Where a partition has no record at or after the time: stop with an error, or begin at its latest offset.',
    type: { kind: 'choice', values: ['error', 'latest'] },
    default: 'error',
    since: SINCE,
  },
  {
    section: 'source',
    key: 'maxOffsetsPerTrigger',
    doc: 'At most so many offsets in a batch, shared out over the partitions by what is left in each. No limit where it is left out. `auto` begins at 100,000, doubles while a batch takes less than half of the trigger interval (of 60 seconds where the trigger has none), cuts when one takes longer than it, and stays where the bytes of a batch fit into `memory`; each change is logged with its reason and shown by `sluice status`.',
    type: { kind: 'longOrAuto', min: 1n },
    since: SINCE,
    env: 'SLUICE_MAX_OFFSETS_PER_TRIGGER',
  },
  {
    section: 'source',
    key: 'minOffsetsPerTrigger',
    doc: 'Wait until so many offsets can be read, at most maxTriggerDelay long; the first batch of a run waits for nothing. As in Spark, an availableNow run leaves a remainder below it to the next run, and once does not know it.',
    type: { kind: 'long', min: 1n },
    since: SINCE,
    env: 'SLUICE_MIN_OFFSETS_PER_TRIGGER',
  },
  {
    section: 'source',
    key: 'maxTriggerDelay',
    doc: 'How long minOffsetsPerTrigger may hold batches back, counted from the last one.',
    type: { kind: 'duration', min: 0, max: 7 * DAY_MS },
    unit: 'ms',
    default: '15m',
    since: SINCE,
    env: 'SLUICE_MAX_TRIGGER_DELAY',
  },
  {
    section: 'source',
    key: 'maxBytesPerTrigger',
    doc: 'About so many bytes in a batch, as they come from the brokers: a target, reckoned from the bytes per offset of recent batches (1 KB before the first). Of it and maxOffsetsPerTrigger the one that is reached first counts. What bounds the memory is `memory`.',
    type: { kind: 'bytes', min: 1, max: 1024 * 1024 * 1024 * MIB },
    unit: 'bytes',
    since: SINCE,
    env: 'SLUICE_MAX_BYTES_PER_TRIGGER',
  },
  {
    section: 'source',
    key: 'minPartitions',
    doc: 'Split large ranges until a batch has at least about so many tasks.',
    type: { kind: 'integer', min: 1, max: 100_000 },
    since: SINCE,
    env: 'SLUICE_MIN_PARTITIONS',
  },
  {
    section: 'source',
    key: 'maxRecordsPerPartition',
    doc: 'No task reads more offsets than this; a batch with more tasks than workers runs them one after another. Each task writes files of its own.',
    type: { kind: 'long', min: 1n },
    since: SINCE,
    env: 'SLUICE_MAX_RECORDS_PER_PARTITION',
  },
  {
    section: 'source',
    key: 'failOnDataLoss',
    doc: 'true: stop when records are gone before they were read. false: go on, and record the lost range in the commit and the progress.',
    type: { kind: 'boolean' },
    default: true,
    since: SINCE,
  },
  {
    section: 'source',
    key: 'includeHeaders',
    doc: 'New tables get a column `headers`, list<struct<key: string, value: binary>>; a table that is there must have it. A record with a header key that is not UTF-8 goes to the quarantine (`INVALID_UTF8`, field `headers`), which shows U+FFFD in that key for what is not. A table with a column `headers` gets the headers also without this option.',
    type: { kind: 'boolean' },
    default: false,
    since: SINCE,
  },
  {
    section: 'source',
    key: 'workers',
    doc: "Worker threads; the default is the number of cores. The topic's partitions and minPartitions cap what runs at once.",
    type: { kind: 'integer', min: 1, max: 256 },
    since: SINCE,
    env: 'SLUICE_WORKERS',
  },
  {
    section: 'source',
    key: 'fetchOffset.numRetries',
    doc: 'How often the newest offsets are asked for again when the answer cannot be right.',
    type: { kind: 'integer', min: 0, max: 1000 },
    default: 3,
    since: SINCE,
  },
  {
    section: 'source',
    key: 'fetchOffset.retryIntervalMs',
    doc: 'The pause between those.',
    type: { kind: 'integer', min: 0, max: 3_600_000 },
    unit: 'ms',
    default: 1000,
    since: SINCE,
  },
  {
    section: 'source',
    key: 'kafkaConsumer.pollTimeoutMs',
    doc: 'Spark: how long an executor waits for records.',
    type: { kind: 'integer', min: 1, max: 3_600_000 },
    unit: 'ms',
    default: 120_000,
    noEffect: 'kafka.request.timeout.ms and kafka.request.deadline say how long a read may take',
    since: SINCE,
  },
  {
    section: 'source',
    key: 'commitOffsetsToKafka',
    doc: 'Mirror the committed position to a consumer group; only false in this version.',
    type: { kind: 'boolean' },
    default: false,
    since: SINCE,
  },
  {
    section: 'source',
    key: 'groupIdPrefix',
    doc: 'Accepted for the sake of Spark jobs.',
    type: { kind: 'text' },
    since: SINCE,
    noEffect: 'Sluice reads without a consumer group; the checkpoint says how far it has read',
  },
  ...KAFKA_OPTIONS,
];

const keeping: Option[] = [
  {
    section: 'quarantine',
    key: 'maxRatio',
    doc: 'Where more than this part of the records cannot be decoded the run stops, before anything of the batch is committed. 0 stops at the first.',
    type: { kind: 'number', min: 0, max: 1 },
    default: 0.05,
    since: SINCE,
  },
  {
    section: 'quarantine',
    key: 'window',
    doc: 'Over how many records the part is counted.',
    type: { kind: 'integer', min: 1, max: 1_000_000_000 },
    default: 10_000,
    unit: 'records',
    since: SINCE,
  },
  {
    section: 'quarantine',
    key: 'keepBytes',
    doc: 'How much of a value that is TOO_LARGE is kept; its length and SHA-256 are kept whatever its size. Values quarantined for other reasons are kept whole.',
    type: { kind: 'bytes', min: 0, max: 1024 * MIB },
    unit: 'bytes',
    default: '1MB',
    since: SINCE,
  },
  {
    section: 'shutdown',
    key: 'timeout',
    doc: 'After SIGTERM or SIGINT the running batch has this long to end; then it is abandoned, and the next run reads it again.',
    type: { kind: 'duration', min: 0, max: DAY_MS },
    unit: 'ms',
    default: '30 seconds',
    since: SINCE,
  },
  {
    section: 'retention',
    key: 'minBatchesToRetain',
    doc: 'Batches of the checkpoint that are kept; older ones are folded into the ledger.',
    type: { kind: 'integer', min: 100, max: 1_000_000 },
    default: 100,
    since: SINCE,
  },
  {
    section: 'progress',
    key: 'keep',
    doc: 'Progress objects that are kept.',
    type: { kind: 'integer', min: 1, max: 10_000 },
    default: 100,
    since: SINCE,
  },
  {
    section: 'http',
    key: 'listen',
    doc: 'The address of the HTTP interface.',
    type: { kind: 'text', pattern: /^\S+:\d+$/, what: 'host:port' },
    since: SINCE,
    noEffect: 'the HTTP interface is not in this version: nothing listens',
  },
];

export const OPTIONS: readonly Option[] = [...pipeline, ...source, ...TABLE_OPTIONS, ...keeping];

const refused = (section: Section, keys: string[], instead: string): UnsupportedOption[] =>
  keys.map((key) => ({ section, key, instead }));

/** Known, and refused with a word of what to do, until a version has them. */
export const UNSUPPORTED: readonly UnsupportedOption[] = [
  { section: '', key: 'engine', values: ['spark'], instead: 'use engine: local' },
  {
    section: 'catalog',
    key: 'type',
    values: ['rest', 'glue', 'file', 'hive', 'jdbc'],
    instead: 'use type: sqlite',
  },
  {
    section: 'tables[]',
    key: 'layout',
    values: ['typed'],
    instead: 'use layout: bronze, which keeps the bytes as they are',
  },
  ...refused(
    'tables[]',
    ['value', 'key', 'schema', 'merge', 'transform', 'evolve', 'route', 'compat', 'forEachBatch'],
    'it belongs to typed layouts; use layout: bronze',
  ),
  {
    section: 'source',
    key: 'commitOffsetsToKafka',
    values: [true, 'true'],
    instead: 'leave it out; `sluice status` shows the lag',
  },
  ...refused(
    'source',
    ['endingOffsets', 'endingTimestamp', 'endingOffsetsByTimestamp'],
    'they bound a replay or a landing, which are for a later version; `sluice run --until latest|TIME|OFFSETS` ends a run at these places',
  ),
  ...refused('http', ['token'], 'leave `http` out'),
  ...refused('quarantine', ['table'], 'leave it out; the quarantine is `<table>__quarantine`'),
  ...refused('', ['landing', 'bridge', 'lakehouse', 'compaction', 'registry'], 'leave it out'),
  ...KAFKA_UNSUPPORTED,
];

const byPath = new Map(OPTIONS.map((option) => [optionPath(option), option]));

/** The declaration of `source.subscribe`, `tables[].match`. */
export function findOption(section: Section, key: string): Option | undefined {
  return byPath.get(optionPath({ section, key }));
}

export function optionsOf(section: Section): Option[] {
  return OPTIONS.filter((option) => option.section === section);
}

/** The refusal of an option as a whole (`value` left out), or of one of its values. */
export function findUnsupported(
  section: Section,
  key: string,
  value?: unknown,
): UnsupportedOption | undefined {
  return UNSUPPORTED.find(
    (u) =>
      u.section === section && u.key === key && (u.values === undefined || u.values.some((v) => v === value)),
  );
}

/** A `kafka.*` name that by its words holds a secret, whether Sluice knows it or not. */
export function isSecretKey(section: Section, key: string): boolean {
  if (findOption(section, key)?.secret === true) return true;
  return /pass|secret|token|credential|jaas|private|api[._-]?key|keystore\.key/i.test(key);
}
