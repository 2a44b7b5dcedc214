/** One drain of the topic by one of the two, from the start of its process to its end, all its processes together. */
export interface RaceRun {
  seconds: number;
  /** From the plan of the first batch (`offsets/0` durable) to the end of the last (`commits/N` durable). */
  steadySeconds: number;
  /** From the start of the process until `commits/0` was durable in the checkpoint. */
  secondsToFirstCommit: number;
  cpuSeconds: number;
  peakRssBytes: number;
  recordsPerSecond: number;
  recordsPerSecondSteady: number;
  recordsPerCpuSecond: number;
  batches: number;
  dataFiles: number;
  dataFileBytes: number;
  /** Over topic, partition, offset, timestamp, key and value of all rows, whatever their order; in decimal. */
  checksum: string;
}

/** Both, one after the other, on the same topic. */
export interface RacePair {
  sluice: RaceRun;
  spark: RaceRun;
}

/** Ours over Spark's, each the median of the ratios of all pairs. */
export interface RaceRatios {
  recordsPerSecond: number;
  recordsPerSecondSteady: number;
  recordsPerCpuSecond: number;
  peakRss: number;
  firstCommit: number;
  dataFileBytes: number;
}

/** When, in milliseconds since 1970, the files of a checkpoint were durable. */
export interface CheckpointTimes {
  startedAtMs: number;
  firstPlanMs: number;
  firstCommitMs: number;
  lastCommitMs: number;
  batches: number;
}

/** The rates and times of a run of `records` records. */
export function timesOf(
  records: number,
  usage: { seconds: number; cpuSeconds: number },
  times: CheckpointTimes,
): Pick<
  RaceRun,
  | 'steadySeconds'
  | 'secondsToFirstCommit'
  | 'recordsPerSecond'
  | 'recordsPerSecondSteady'
  | 'recordsPerCpuSecond'
  | 'batches'
> {
  const steadySeconds = (times.lastCommitMs - times.firstPlanMs) / 1000;
  return {
    steadySeconds,
    secondsToFirstCommit: (times.firstCommitMs - times.startedAtMs) / 1000,
    recordsPerSecond: records / usage.seconds,
    recordsPerSecondSteady: records / steadySeconds,
    recordsPerCpuSecond: records / usage.cpuSeconds,
    batches: times.batches,
  };
}

/** @throws Error where there is no pair */
export function ratiosOf(pairs: readonly RacePair[]): RaceRatios {
  const ratio = (of: (run: RaceRun) => number): number =>
    medianOf(pairs.map(({ sluice, spark }) => of(sluice) / of(spark)));
  return {
    recordsPerSecond: ratio((run) => run.recordsPerSecond),
    recordsPerSecondSteady: ratio((run) => run.recordsPerSecondSteady),
    recordsPerCpuSecond: ratio((run) => run.recordsPerCpuSecond),
    peakRss: ratio((run) => run.peakRssBytes),
    firstCommit: ratio((run) => run.secondsToFirstCommit),
    dataFileBytes: ratio((run) => run.dataFileBytes),
  };
}

/** The number in the middle; of an even count, the mean of the two in the middle. @throws Error where there is none */
export function medianOf(numbers: readonly number[]): number {
  if (numbers.length === 0) throw new Error('no number to take the median of');
  const sorted = [...numbers].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** What the independent reader found in a table. */
export interface TableContent {
  rows: number;
  checksum: string;
  /** `name type` each, in the order of the schema. */
  columns: string[];
  partitionedBy: string[];
  dataFiles: number;
  dataFileBytes: number;
}

/** @throws Error where the two tables do not hold the same `records` rows in the same columns */
export function compareTables(records: number, sluice: TableContent, spark: TableContent): void {
  for (const [name, { rows }] of Object.entries({ Sluice: sluice, Spark: spark }))
    if (rows !== records) throw new Error(`${name}'s table: expected ${records} rows, found ${rows}`);
  const same = (what: string, ours: unknown, theirs: unknown): void => {
    if (JSON.stringify(ours) !== JSON.stringify(theirs))
      throw new Error(`The tables differ in ${what}: Sluice has ${ours}, Spark ${theirs}`);
  };
  same('columns', sluice.columns, spark.columns);
  same('partitions', sluice.partitionedBy, spark.partitionedBy);
  same('the checksum of their rows', sluice.checksum, spark.checksum);
}
