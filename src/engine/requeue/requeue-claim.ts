import type { Envelope } from '../../checkpoint/envelope.ts';
import type { RequeueIntent } from '../../checkpoint/requeue-intents.ts';
import { describeIntent } from '../../checkpoint/requeue-intents.ts';
import { SluiceError } from '../../errors.ts';
import { RecordSet, recordSetOf } from './record-set.ts';
import { finishRequeue, rowsOf } from './requeue-commit.ts';
import type { RequeueHost } from './requeue-host.ts';
import type { RequeuedTable } from './requeued-table.ts';

/** A requeue of an earlier process that this one has finished. */
export interface FinishedRequeue {
  requeueId: string;
  table: string;
  rows: number;
}

/** A requeue takes seconds from its intent to its end; an older one is nobody's, though its process id may live on as another's. */
const LIVE_MS = 10 * 60_000;

/**
 * Settles what other processes have begun from a quarantine: finishes what was decided on, voids what was not, and leaves to
 * processes that live on this host what is theirs. Returns what was finished, and the records that live processes hold.
 */
export async function settleOthers(
  host: RequeueHost,
  quarantine: string,
  requeued: RequeuedTable,
): Promise<{ finished: FinishedRequeue[]; busy: RecordSet }> {
  const { intents, log } = host;
  const finished: FinishedRequeue[] = [];
  const busy = new RecordSet();
  for (const requeueId of await intents.list()) {
    const envelope = await intents.read(requeueId);
    if (envelope === null || envelope.record.quarantine !== quarantine) continue;
    const { record } = envelope;
    if (isLive(host, envelope)) {
      log.info(
        `requeue ${requeueId} is being done by ${describeIntent(envelope)}: its records are left to it`,
      );
      busy.addAll(record.records);
      continue;
    }
    if ((await intents.decide(requeueId, 'void', host.owner, host.now())) !== 'go') {
      log.info(
        `requeue ${requeueId} was begun and not decided on (${describeIntent(envelope)}): it is given up`,
      );
      await intents.remove(requeueId);
      continue;
    }
    log.info(`requeue ${requeueId} is not finished (${describeIntent(envelope)}): finishing it`);
    await expectFiles(host, record);
    const end = await finishRequeue(host, requeued, record);
    if (end.kind === 'done') finished.push({ requeueId, table: record.table, rows: rowsOf(record) });
  }
  await requeued.refresh();
  return { finished, busy };
}

/** Is it being done right now? Told for this host alone; nothing depends on it but who does the work. */
function isLive(host: RequeueHost, { writer, writtenAt }: Envelope<RequeueIntent>): boolean {
  if (writer.writerId === host.owner.writerId || writer.host !== host.owner.host) return false;
  return host.now() - Date.parse(writtenAt) < LIVE_MS && host.isProcessAlive(writer.pid);
}

/** A table must never refer to files that somebody has cleaned away. Throws FILE_NOT_FOUND. */
async function expectFiles({ io, intents }: RequeueHost, intent: RequeueIntent): Promise<void> {
  for (const { filePath } of intent.files) {
    if ((await io.stat(filePath)) !== undefined) continue;
    throw new SluiceError(
      'FILE_NOT_FOUND',
      `requeue ${intent.requeueId} is not finished, and its data file ${filePath} is gone; restore it, or remove ${intents.path(intent.requeueId)} to give that requeue up: its records are still in ${intent.quarantine}`,
      { context: { path: filePath, requeueId: intent.requeueId } },
    );
  }
}

/**
 * Writes what a requeue is about to do, and decides on it. False where another one has, or may have, brought some of the
 * records back: then nothing of it will ever be committed. Of two processes that claim the same record at once, each sees the
 * other's intent or is seen by it, since each writes its own before it looks for others.
 */
export async function claim(
  host: RequeueHost,
  requeued: RequeuedTable,
  intent: RequeueIntent,
): Promise<boolean> {
  const { intents, owner, failpoints } = host;
  await intents.write(intent, owner, host.now());
  failpoints.hit('requeue-after-intent');
  const isFree = await noOtherHas(host, requeued, intent);
  const decided = await intents.decide(intent.requeueId, isFree ? 'go' : 'void', owner, host.now());
  if (decided === 'go') return true;
  await intents.remove(intent.requeueId);
  return false;
}

async function noOtherHas(
  host: RequeueHost,
  requeued: RequeuedTable,
  intent: RequeueIntent,
): Promise<boolean> {
  const { intents, owner } = host;
  const mine = recordSetOf(intent.records);
  for (const requeueId of await intents.list()) {
    if (requeueId === intent.requeueId) continue;
    const other = (await intents.read(requeueId))?.record;
    if (other === undefined || other.quarantine !== intent.quarantine) continue;
    if (mine.shared(recordSetOf(other.records)) === null) continue;
    if ((await intents.decide(requeueId, 'void', owner, host.now())) === 'go') return false;
  }
  // After the others: one that is finished is on record by now.
  await requeued.refresh();
  return mine.shared(requeued.records) === null;
}
