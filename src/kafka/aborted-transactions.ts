/** An entry of the list of aborted transactions in a Fetch response: the offset of its first record. */
export interface AbortedTransaction {
  readonly producerId: bigint;
  readonly firstOffset: bigint;
}

const NONE: readonly AbortedTransaction[] = [];

/**
 * Which producers have an open transaction that will be aborted, at a point of one partition's log (KIP-98; spec 20,
 * "Reading"). A response lists every aborted transaction that overlaps what it holds, also those that began before it, so
 * the state is built anew for each response. What outlives a response is how far each producer's aborts were seen: a
 * response that is decoded in parts, or fetched again, must not open a transaction whose abort marker has been passed.
 */
export class AbortedTransactions {
  private pending: readonly AbortedTransaction[] = NONE;
  private next = 0;
  private readonly active = new Set<bigint>();
  /** producer id -> offset of its last abort marker; kept only for producers that the current response lists. */
  private readonly passedMarkers = new Map<bigint, bigint>();

  /** Begins a response with its list, in any order. */
  begin(aborted: readonly AbortedTransaction[]): void {
    this.active.clear();
    this.next = 0;
    if (aborted.length === 0) {
      this.pending = NONE;
      this.passedMarkers.clear();
      return;
    }
    const listed = new Set(aborted.map((t) => t.producerId));
    for (const id of this.passedMarkers.keys()) if (!listed.has(id)) this.passedMarkers.delete(id);
    this.pending = aborted
      .filter((t) => t.firstOffset > (this.passedMarkers.get(t.producerId) ?? -1n))
      .sort((a, b) => (a.firstOffset < b.firstOffset ? -1 : a.firstOffset > b.firstOffset ? 1 : 0));
  }

  /** Opens the transactions that begin at or before `lastOffset`, the last offset of the batch at hand. */
  advanceTo(lastOffset: bigint): void {
    while (this.next < this.pending.length && this.pending[this.next].firstOffset <= lastOffset) {
      this.active.add(this.pending[this.next++].producerId);
    }
  }

  /** Must a transactional batch of this producer be dropped? */
  isAborted(producerId: bigint): boolean {
    return this.active.has(producerId);
  }

  /** An abort marker of the producer stands at `offset`. */
  passAbortMarker(producerId: bigint, offset: bigint): void {
    if (this.active.delete(producerId)) this.passedMarkers.set(producerId, offset);
  }
}
