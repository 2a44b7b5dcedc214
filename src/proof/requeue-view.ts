import type { RequeuedRecords, RequeueIntent, RequeueIntents } from '../checkpoint/requeue-intents.ts';
import { RecordSet } from '../engine/requeue/record-set.ts';
import { requeuedNameOf } from '../engine/requeue/requeued-layout.ts';
import { RequeuedTable } from '../engine/requeue/requeued-table.ts';
import { isSluiceError } from '../errors.ts';
import { evidenceOf } from '../iceberg/append-committer.ts';
import type { Catalog, LoadedTable } from '../iceberg/catalog.ts';
import { findRequeue } from '../iceberg/requeue-marker.ts';
import type { FileIO } from '../storage/file-io.ts';

/** A requeue that was begun and is not on record. */
export interface UnfinishedRequeue {
  requeueId: string;
  table: string;
  records: number;
  /** Are its rows in the table already? */
  landed: boolean;
}

/** What has gone back from some quarantines, as it was while their tables were loaded. */
export class RequeueView {
  private readonly io: FileIO;
  private readonly intents: RequeueIntents;
  private readonly quarantines: readonly string[];
  private readonly tables: RequeuedTable[];
  private begun: RequeueIntent[] = [];

  constructor(catalog: Catalog, io: FileIO, intents: RequeueIntents, quarantines: readonly string[]) {
    this.io = io;
    this.intents = intents;
    this.quarantines = quarantines;
    this.tables = quarantines.map((name) => new RequeuedTable(catalog, io, requeuedNameOf(name)));
  }

  /**
   * Reads what is on record. The same answer twice: nothing was put on record between. To be called before the tables are
   * loaded, and after `readIntents`, which is called after them: then a requeue whose rows were loaded is on record, or its
   * intent was still there.
   */
  async look(): Promise<string> {
    const locations: string[] = [];
    for (const table of this.tables) locations.push(await table.refresh());
    return locations.join('\n');
  }

  /** The tables that records on record have gone back into. */
  targets(): string[] {
    return this.tables.flatMap((table) => [...table.targets]);
  }

  async readIntents(): Promise<void> {
    this.begun = [];
    for (const requeueId of await this.intents.list()) {
      const intent = (await this.intents.read(requeueId))?.record;
      if (intent !== undefined && this.quarantines.includes(intent.quarantine)) this.begun.push(intent);
    }
  }

  /** What has gone back into the tables that were loaded, on record or not yet. */
  async goneBack(
    loaded: ReadonlyMap<string, LoadedTable>,
  ): Promise<{ records: RequeuedRecords[]; unfinished: UnfinishedRequeue[] }> {
    const records = this.tables.flatMap((table) => table.records.records());
    const unfinished: UnfinishedRequeue[] = [];
    for (const intent of this.begun) {
      const { requeueId, table } = intent;
      if (this.tables.some((t) => t.requeueIds.has(requeueId))) continue;
      const landed = await this.hasLanded(intent, loaded.get(table));
      if (landed) records.push(...intent.records);
      const set = new RecordSet();
      set.addAll(intent.records);
      unfinished.push({ requeueId, table, records: set.size, landed });
    }
    return { records, unfinished };
  }

  private async hasLanded(intent: RequeueIntent, loaded: LoadedTable | undefined): Promise<boolean> {
    if (loaded === undefined) return false;
    try {
      const question = { ...intent, ref: 'main' };
      return (await findRequeue(loaded.metadata, question, evidenceOf(this.io))) !== null;
    } catch (error) {
      // Rolled back: then the rows are not there.
      if (isSluiceError(error, 'TABLE_REWOUND')) return false;
      throw error;
    }
  }
}
