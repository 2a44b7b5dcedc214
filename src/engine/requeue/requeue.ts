import type { TableRule } from '../../config/pipeline-config.ts';
import { SluiceError } from '../../errors.ts';
import type { Log } from '../host.ts';
import { TrialCatalog } from '../trial-catalog.ts';
import { QuarantineTable, type RecordFilter } from './quarantine-table.ts';
import { RecordSet } from './record-set.ts';
import { type FinishedRequeue, settleOthers } from './requeue-claim.ts';
import { rowsOf } from './requeue-commit.ts';
import type { RequeueHost } from './requeue-host.ts';
import { RequeueOutput } from './requeue-output.ts';
import { RequeuePass } from './requeue-pass.ts';
import { type RequeueReport, RequeueTally } from './requeue-report.ts';
import { requeuedNameOf } from './requeued-layout.ts';
import { RequeuedTable } from './requeued-table.ts';
import { TopicIntakes } from './topic-intakes.ts';

/** Times that records which another requeue was after too are looked at again. */
const MAX_PASSES = 5;

/**
 * Decodes the quarantined records of a filter by today's rules, and says what would become of them. Writes nothing. Throws
 * TABLE_NOT_FOUND, TABLE_INCOMPATIBLE, and what catalog, storage and registry throw.
 */
export async function previewRequeue(
  host: RequeueHost,
  quarantineName: string,
  filter: RecordFilter,
): Promise<RequeueReport> {
  const quarantine = await QuarantineTable.open(host.catalog, host.io, quarantineName);
  const requeued = new RequeuedTable(host.catalog, host.io, requeuedNameOf(quarantineName));
  await requeued.refresh();
  const { unfinished, busy } = await lookAtOthers(host, quarantineName);
  const trial = new TrialCatalog(host.catalog, {
    now: () => host.now(),
    randomUuid: () => host.randomUuid(),
    locationOf: ({ namespace, name }) => `memory://preview/${[...namespace, name].join('.')}`,
  });
  const topics = new TopicIntakes(host, quarantineName, trial, SILENT);
  if (followsRecords(host.config.tables)) {
    await new RequeuePass(host, quarantine, requeued, topics, new RequeueTally(), null).run({
      filter,
      busy,
      only: null,
    });
    await topics.evolve();
  }
  const tally = new RequeueTally();
  await new RequeuePass(host, quarantine, requeued, topics, tally, null).run({ filter, busy, only: null });
  return tally.report(quarantineName, false, [], unfinished);
}

/**
 * Brings the records of a filter back that are rows by today's rules: each once, whatever other processes do at the same time
 * and wherever this one is cut off. Finishes first what earlier processes began. Throws as `previewRequeue`, REQUEUE_REFUSED
 * where there is no checkpoint, REQUEUE_UNFINISHED, TABLE_REWOUND, and what the commits throw: then the next call goes on.
 */
export async function executeRequeue(
  host: RequeueHost,
  quarantineName: string,
  filter: RecordFilter,
): Promise<RequeueReport> {
  const { checkpoint } = host;
  if (!checkpoint.exists)
    throw new SluiceError(
      'REQUEUE_REFUSED',
      `there is no checkpoint at ${checkpoint.location}: what a requeue is about to do is kept there. Use the pipeline file that set the records aside`,
      { context: { location: checkpoint.location } },
    );
  const requeued = new RequeuedTable(host.catalog, host.io, requeuedNameOf(quarantineName));
  const { finished, busy } = await settleOthers(host, quarantineName, requeued);
  const quarantine = await QuarantineTable.open(host.catalog, host.io, quarantineName);
  const topics = new TopicIntakes(host, quarantineName, host.catalog, host.log);
  if (followsRecords(host.config.tables)) {
    await new RequeuePass(host, quarantine, requeued, topics, new RequeueTally(), null).run({
      filter,
      busy,
      only: null,
    });
    await topics.evolve();
  }
  const tally = new RequeueTally();
  const output = new RequeueOutput(host, quarantineName, requeued, tally);
  let only: RecordSet | null = null;
  for (let pass = 1; ; pass++) {
    try {
      await new RequeuePass(host, quarantine, requeued, topics, tally, output).run({ filter, busy, only });
    } catch (error) {
      await output.abort();
      throw error;
    }
    if (output.overlapped.size === 0) break;
    if (pass === MAX_PASSES)
      throw new SluiceError(
        'COMMIT_CONFLICT',
        `${quarantineName}: other processes brought back some of the same records each of the ${MAX_PASSES} times; ${output.overlapped.size} records are left, run again`,
        { outcome: 'not-applied', context: { table: quarantineName } },
      );
    only = output.overlapped;
    output.overlapped = new RecordSet();
    finished.push(...(await settleOthers(host, quarantineName, requeued)).finished);
  }
  return tally.report(quarantineName, true, output.done, finished);
}

/** What earlier processes began and have not finished; the records are theirs. */
async function lookAtOthers(
  { intents }: RequeueHost,
  quarantine: string,
): Promise<{ unfinished: FinishedRequeue[]; busy: RecordSet }> {
  const unfinished: FinishedRequeue[] = [];
  const busy = new RecordSet();
  for (const requeueId of await intents.list()) {
    const intent = (await intents.read(requeueId))?.record;
    if (intent?.quarantine !== quarantine || (await intents.decision(requeueId)) !== 'go') continue;
    unfinished.push({ requeueId, table: intent.table, rows: rowsOf(intent) });
    busy.addAll(intent.records);
  }
  return { unfinished, busy };
}

/** May a table be given columns that its records ask for? */
function followsRecords(rules: readonly TableRule[]): boolean {
  return rules.some(
    (rule) =>
      rule.layout === 'typed' &&
      (rule.evolve !== 'none' || rule.value?.columns.from === 'infer' || rule.key?.columns.from === 'infer'),
  );
}

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
