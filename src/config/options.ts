/**
 * Every option of a pipeline file, once: `schema.ts` makes the strict schema of it, `docs/options.md` and `schema.json`
 * are generated from it, and tests keep them equal. Options under `source` have Spark's own names (spec 20).
 */
import { FORMAT_OPTIONS } from './format-options.ts';
import { KAFKA_UNSUPPORTED } from './kafka-options.ts';
import { type Option, optionPath, type Section, type UnsupportedOption } from './option.ts';
import { REGISTRY_OPTIONS } from './registry-options.ts';
import { ROUTE_OPTIONS } from './route-options.ts';
import { SOURCE_OPTIONS } from './source-options.ts';
import { TABLE_OPTIONS } from './table-options.ts';

const SINCE = '0.1.0';
const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
const FILE_CATALOG =
  "Iceberg's specification calls a catalog of files unsafe: two writers are kept apart by the file system alone, and format version 4 drops it; take it for what must read or write such tables, on a local disk, and sqlite for all else";

export const SECTION_DOCS: Readonly<Record<Section, string>> = {
  '': 'The pipeline',
  catalog: 'The catalog of the Iceberg tables',
  trigger: 'When the next batch begins; exactly one of them',
  source: "What is read from Kafka; Spark's own names",
  'tables[]': 'Where the records go: a list of rules, the first whose `match` fits the topic wins',
  'tables[].value':
    'How the value of a record becomes columns, for `layout: typed`; `value: json` is short for a map with the format alone',
  'tables[].key':
    'How the key of a record becomes columns, for `layout: typed`; the options of `value`, and `prefix`',
  'tables[].route': 'One topic into several tables, for `layout: typed`',
  registry:
    'The Schema Registry that the formats avro, protobuf and json-schema need; the names are those of Confluent’s clients',
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
    doc: "The kind of catalog. `sqlite`: the tables of the JDBC catalog in one file. `file`: directories with `vN.metadata.json`, as Java's HadoopCatalog has them; Iceberg's specification calls such tables unsafe.",
    type: { kind: 'choice', values: ['sqlite', 'file'] },
    required: true,
    since: SINCE,
    lint: (type: string) => (type === 'file' ? FILE_CATALOG : undefined),
  },
  {
    section: 'catalog',
    key: 'name',
    doc: '`catalog_name` in the tables of the SQL catalog; another client must give the same name to see the tables. A file catalog has no such name: it stands in messages only.',
    type: { kind: 'text', pattern: /^.{1,255}$/s, what: 'a text of at most 255 characters' },
    default: 'sluice',
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'uri',
    doc: 'Required by type sqlite, and only there: the database file of the catalog, created where it is missing. Relative to the working directory.',
    type: { kind: 'text' },
    since: SINCE,
  },
  {
    section: 'catalog',
    key: 'warehouse',
    doc: 'The directory under which tables are created. Relative to the working directory; tables keep the whole path.',
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
    doc: 'Over how many of the newest records the part is counted, earlier batches and runs included; fewer count as so many, so that the first broken records of a quiet topic stop nothing.',
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

export const OPTIONS: readonly Option[] = [
  ...pipeline,
  ...SOURCE_OPTIONS,
  ...TABLE_OPTIONS,
  ...FORMAT_OPTIONS,
  ...ROUTE_OPTIONS,
  ...REGISTRY_OPTIONS,
  ...keeping,
];

const refused = (section: Section, keys: string[], instead: string): UnsupportedOption[] =>
  keys.map((key) => ({ section, key, instead }));

/** Known, and refused with a word of what to do, until a version has them. */
export const UNSUPPORTED: readonly UnsupportedOption[] = [
  { section: '', key: 'engine', values: ['spark'], instead: 'use engine: local' },
  {
    section: 'catalog',
    key: 'type',
    values: ['rest', 'glue', 'hive', 'jdbc'],
    instead: 'use type: sqlite',
  },
  {
    section: 'catalog',
    key: 'type',
    values: ['hadoop'],
    instead: 'use type: file, which is the same',
  },
  ...refused('tables[]', ['merge', 'transform', 'forEachBatch'], 'leave it out'),
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
  ...refused('', ['landing', 'bridge', 'lakehouse', 'compaction'], 'leave it out'),
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
