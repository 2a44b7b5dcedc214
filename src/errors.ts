/**
 * The table of error codes and the one error class. Every fault that a person can meet has a row here;
 * `docs/errors.md` is generated from it and a test keeps them equal. Callers branch on fields, never on text.
 */

/** What is known about the effect of a failed request on the outside. */
export type Outcome = 'not-applied' | 'applied' | 'unknown';

export interface ErrorRow {
  /** Exit code of the process (spec 70): 64 usage, 65 data, 69 unreachable, 70 bug, 75 try again, 78 configuration, 3 data loss, 4 verify difference. */
  readonly exit: number;
  /** HTTP status where the fault is shown by the HTTP interface. */
  readonly http: number;
  /** May the same call succeed when it is simply tried again? The default of a thrown error; a thrower may override. */
  readonly retryable: boolean;
  /** What the code means, one sentence. */
  readonly meaning: string;
  /** What a person can do about it. */
  readonly remedy: string;
}

const row = (exit: number, http: number, retryable: boolean, meaning: string, remedy: string): ErrorRow => ({
  exit,
  http,
  retryable,
  meaning,
  remedy,
});

export const ERROR_CODES = {
  // usage and configuration
  USAGE: row(
    64,
    400,
    false,
    'The command line is not one that Sluice knows.',
    'See `--help` of the command, such as `sluice run --help`.',
  ),
  CONFIG_INVALID: row(
    78,
    400,
    false,
    'The pipeline file has faults; each is listed with file, line and column.',
    'Mend the listed places; `sluice validate` shows them all at once.',
  ),
  CONFIG_NOT_FOUND: row(
    78,
    404,
    false,
    'The pipeline file does not exist or cannot be read.',
    'Give its path with `-c FILE`; `sluice init` writes one from the records of a topic.',
  ),
  UNSUPPORTED: row(
    78,
    501,
    false,
    'The pipeline asks for something that this version does not do.',
    'Leave the option out, or use a version that has it.',
  ),
  // Kafka
  BROKER_UNREACHABLE: row(
    69,
    503,
    true,
    'No broker could be reached before the deadline.',
    'Check kafka.bootstrap.servers, the network and the listeners that the broker advertises.',
  ),
  BROKER_ERROR: row(
    69,
    502,
    true,
    'A broker answered with an error that did not pass before the deadline.',
    'Look at the broker and the error it names.',
  ),
  KAFKA_AUTH: row(
    69,
    401,
    false,
    'The broker refused the credentials or the authorisation.',
    'Check the kafka.security.* and kafka.sasl.* options and the ACLs; see docs/security.md.',
  ),
  KAFKA_TLS: row(
    69,
    502,
    false,
    'The connection to a broker could not be secured: its certificate is not trusted, has expired or is for another name, or the listener speaks another protocol.',
    'Check kafka.security.protocol and the kafka.ssl.* options against the listener; see docs/security.md.',
  ),
  TOPIC_NOT_FOUND: row(
    69,
    404,
    false,
    'A subscribed topic does not exist.',
    'Create the topic, or mend `subscribe`.',
  ),
  PROTOCOL_ERROR: row(
    69,
    502,
    false,
    'A reply does not follow the Kafka protocol.',
    'Check that the address is a Kafka broker of a supported version.',
  ),
  COULD_NOT_READ: row(
    65,
    502,
    false,
    'A record batch on the broker is damaged; the offset does not advance.',
    'Repair the log segment on the broker (a replica may be whole), then run again.',
  ),
  UNSUPPORTED_CODEC: row(
    65,
    501,
    false,
    'A record batch uses a compression codec that Sluice does not know.',
    'Use a version that knows the codec; nothing was skipped.',
  ),
  MEMORY_LIMIT: row(
    65,
    507,
    false,
    'One record batch needs more memory than the pipeline was given.',
    "Raise `memory`, or lower the producer's batch size.",
  ),
  DATA_LOSS: row(
    3,
    410,
    false,
    'Records that were not yet read are gone from the broker.',
    'See the lost range; `sluice checkpoint reset --topic T --to unread` previews how to go on with what is still there.',
  ),
  TOPIC_REPLACED: row(
    3,
    409,
    false,
    'The topic was deleted and created anew since the checkpoint was written.',
    '`sluice checkpoint reset --topic T --to earliest` previews how to go on with the new topic.',
  ),
  CLUSTER_REPLACED: row(
    3,
    409,
    false,
    'The brokers belong to another cluster than the one of the checkpoint.',
    'Point kafka.bootstrap.servers at the right cluster; or `sluice checkpoint reset --cluster --to earliest` previews how to go on with the new one.',
  ),
  PARTITIONS_DELETED: row(
    3,
    410,
    false,
    'Partitions of the checkpoint no longer exist.',
    'See which; a topic cannot lose partitions unless it was recreated. `sluice checkpoint reset --topic T --to unread` previews how to go on without them.',
  ),
  // schema registry
  REGISTRY_UNREACHABLE: row(
    69,
    503,
    true,
    'The Schema Registry gave no usable answer before the deadline; no record was put aside for it.',
    'Check schema.registry.url, the registry and the network; then run again.',
  ),
  REGISTRY_AUTH: row(
    69,
    401,
    false,
    'The Schema Registry refused the credentials or the authorisation.',
    'Check basic.auth.user.info, bearer.auth.token and the schema.registry.ssl.* options, and what the registry lets this user read.',
  ),
  REGISTRY_CONFIG: row(
    78,
    502,
    false,
    'What answers at schema.registry.url is no Schema Registry that can be used: another service or base path, a redirect, or a certificate that is not trusted.',
    'Mend schema.registry.url (with its base path, such as /apis/ccompat/v7) or the schema.registry.ssl.* options.',
  ),
  REGISTRY_SCHEMA: row(
    65,
    422,
    false,
    'A schema of the registry cannot be used: what it refers to is missing, goes in a circle or is too much.',
    'Register what the message names, then run again; nothing was skipped.',
  ),
  // checkpoint
  CHECKPOINT_CONCURRENT: row(
    75,
    409,
    false,
    'Another process wrote the same file of the checkpoint.',
    'Let only one process run on a checkpoint; this one has stopped and touched nothing of the other.',
  ),
  CHECKPOINT_METADATA_MISSING: row(
    78,
    409,
    false,
    'The checkpoint has logs but no `metadata` file with its id.',
    'Restore the file; never invent an id.',
  ),
  CHECKPOINT_CORRUPT: row(
    78,
    409,
    false,
    'A file of the checkpoint is torn, empty or not what it should be.',
    'The message names the file, what it should hold, and how to repair it.',
  ),
  CHECKPOINT_VERSION: row(
    78,
    501,
    false,
    'The checkpoint was written in a version of the format that Sluice does not know.',
    'Use the engine that wrote it.',
  ),
  CHECKPOINT_LOST: row(
    78,
    409,
    false,
    'The table bears the marker of this pipeline, but the checkpoint is empty.',
    'Restore the checkpoint; a fresh start would double the table.',
  ),
  PLAN_CONFIG_CHANGED: row(
    78,
    409,
    false,
    'A planned batch cannot be reconciled with the changed configuration.',
    'Run the batch with the old configuration first; the change applies from the next batch.',
  ),
  RESET_REFUSED: row(
    64,
    409,
    false,
    'A reset of the checkpoint would double rows or pass over records, or a batch must be finished first; nothing was written.',
    'The message names what to run first, or the option that allows it.',
  ),
  RESET_UNFINISHED: row(
    75,
    409,
    false,
    'A reset of the checkpoint was begun and did not end.',
    'Run the `sluice checkpoint reset` that the message names again, with --execute: it is finished.',
  ),
  // table and catalog
  CATALOG_UNREACHABLE: row(
    69,
    503,
    true,
    'The catalog could not be reached.',
    "Check the catalog's address, credentials and its service.",
  ),
  CATALOG_ERROR: row(69, 502, false, 'The catalog refused a request.', 'See the cause.'),
  CATALOG_SCHEMA: row(
    78,
    409,
    false,
    'The catalog database does not have the tables of an Iceberg SQL catalog.',
    'Give the file of an Iceberg catalog, or a new file.',
  ),
  TABLE_NOT_FOUND: row(
    78,
    404,
    false,
    'The table does not exist.',
    'Check its name; `sluice run` creates the tables of a pipeline.',
  ),
  TABLE_EXISTS: row(78, 409, false, 'A table of that name exists already.', 'Use another name.'),
  TABLE_INCOMPATIBLE: row(
    78,
    409,
    false,
    'The existing table cannot take the rows of this pipeline.',
    "Mend the table's schema (`evolve` adds and widens columns of typed tables), or write to another table.",
  ),
  METADATA_INVALID: row(
    65,
    422,
    false,
    'Iceberg metadata is damaged or outside the specification.',
    'See the file and the field that the message names.',
  ),
  COMMIT_CONFLICT: row(
    75,
    409,
    true,
    'Another writer moved the table first, more often than Sluice tried again.',
    'Run again; nothing was committed.',
  ),
  COMMIT_UNKNOWN: row(
    75,
    504,
    true,
    'It is not known whether the catalog applied the commit, and it did not become known in time.',
    'Run again: the marker tells; nothing was deleted.',
  ),
  TABLE_REWOUND: row(
    4,
    409,
    false,
    'The table no longer holds a batch that this checkpoint has committed.',
    'The table was rolled back, restored or recreated: see which batches would have to be read again.',
  ),
  STALE_WRITER: row(
    75,
    409,
    false,
    'The table bears a newer batch of this pipeline than the checkpoint knows.',
    'An older copy of the checkpoint, or a second process, is running: use the newest one.',
  ),
  // storage
  STORAGE_UNREACHABLE: row(
    69,
    503,
    true,
    'The storage could not be reached.',
    'Check the address, the credentials and the service.',
  ),
  STORAGE_ERROR: row(
    69,
    502,
    false,
    'The storage refused a read or a write.',
    'See the cause: permission, a read-only mount, a missing file.',
  ),
  STORAGE_FULL: row(
    69,
    507,
    true,
    'The disk or the bucket is full.',
    'Free space and run again; nothing was lost.',
  ),
  FILE_NOT_FOUND: row(
    69,
    404,
    false,
    'A file that should be there is not.',
    'Restore the file; see the message for its role.',
  ),
  // data
  DATA_FILE_INVALID: row(
    65,
    422,
    false,
    'A data file is damaged, is no Parquet file, or lacks a column.',
    'Restore the file from a copy; the message names it and what is wrong.',
  ),
  QUARANTINE_RATIO: row(
    65,
    422,
    false,
    'More records than `quarantine.maxRatio` allows could not be decoded; nothing of the batch was committed.',
    'Mend the rule or the producer by the reasons that are told, or run with `--accept-quarantine`: then the records go to the quarantine.',
  ),
  DECODE_ERROR: row(
    65,
    422,
    false,
    'A record could not be decoded under mode FAILFAST.',
    'See the coordinate and the reason.',
  ),
  REQUEUE_REFUSED: row(
    64,
    409,
    false,
    'Records of a quarantine cannot go back as asked; nothing was written.',
    'The message says what is missing.',
  ),
  REQUEUE_UNFINISHED: row(
    75,
    409,
    false,
    'A requeue that another checkpoint began is not finished, and which records it brought back is not known here.',
    'Finish it with the pipeline file that the message names, then run again; nothing was written.',
  ),
  FUNNEL_MISMATCH: row(
    70,
    500,
    false,
    'The offsets of a batch do not add up to what was written.',
    'This is a bug or a loss: nothing was committed. Please report it with the message.',
  ),
  VERIFY_DIFFERENCE: row(
    4,
    409,
    false,
    '`verify` found records that are lost, rows that are doubled or unknown to the ledger, or records in the wrong table.',
    'See the listed ranges.',
  ),
  NOT_VERIFIABLE: row(
    4,
    422,
    false,
    'Nothing can be proven: no row of the table can be told from another, or the checkpoint does not know what was read into it.',
    'The message says which; verify works on tables that keep topic, partition and offset and that this pipeline wrote.',
  ),
  // process
  WORKER_DIED: row(
    70,
    500,
    true,
    'A worker thread ended unexpectedly; the batch was not committed.',
    'Run again; if it comes back, please report the message.',
  ),
  SHUTDOWN_TIMEOUT: row(
    75,
    503,
    true,
    'The running batch did not end within shutdown.timeout and was abandoned; nothing is half-committed.',
    'Run again: the batch is finished or read again.',
  ),
  PREREQUISITE_MISSING: row(
    69,
    503,
    false,
    'A program that is needed is not installed.',
    'Install what the message names.',
  ),
  INTERNAL: row(
    70,
    500,
    false,
    'A bug in Sluice.',
    'Please report it with the message; nothing was committed.',
  ),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERROR_CODES;

export interface SluiceErrorOptions {
  /** Overrides the row's default. */
  retryable?: boolean;
  /** Only for requests that change something outside. */
  outcome?: Outcome;
  /** Facts for programs: topic, partition, expected, found, path... No secrets. */
  context?: Record<string, unknown>;
  cause?: unknown;
}

/** The one error class. `message` begins with the code, then says what happened, to what, expected and found, and what to do. */
export class SluiceError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly outcome: Outcome | undefined;
  readonly context: Record<string, unknown>;

  constructor(code: ErrorCode, message: string, options: SluiceErrorOptions = {}) {
    super(`${code}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'SluiceError';
    this.code = code;
    this.retryable = options.retryable ?? ERROR_CODES[code].retryable;
    this.outcome = options.outcome;
    this.context = options.context ?? {};
  }

  get exitCode(): number {
    return ERROR_CODES[this.code].exit;
  }

  /** A plain object that crosses a thread boundary; `fromPlain` is the way back. */
  toPlain(): PlainSluiceError {
    return {
      sluice: true,
      code: this.code,
      message: this.message.slice(this.code.length + 2),
      retryable: this.retryable,
      outcome: this.outcome,
      context: this.context,
      cause: this.cause instanceof Error ? this.cause.message : undefined,
    };
  }

  static fromPlain(plain: PlainSluiceError): SluiceError {
    return new SluiceError(plain.code, plain.message, {
      retryable: plain.retryable,
      outcome: plain.outcome,
      context: plain.context,
      cause: plain.cause === undefined ? undefined : new Error(plain.cause),
    });
  }
}

export interface PlainSluiceError {
  sluice: true;
  code: ErrorCode;
  message: string;
  retryable: boolean;
  outcome: Outcome | undefined;
  context: Record<string, unknown>;
  cause: string | undefined;
}

export function isSluiceError(e: unknown, code?: ErrorCode): e is SluiceError {
  return e instanceof SluiceError && (code === undefined || e.code === code);
}

/** The message of anything that was thrown. */
export function messageOf(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
