interface Flight<T> {
  readonly result: Promise<T>;
  readonly controller: AbortController;
  callers: number;
}

/** Work that several callers ask for at once is done once. It is given up when the last of them has gone. */
export class Flights<K, T> {
  private readonly flights = new Map<K, Flight<T>>();

  /** The result of the work for `key`, begun by `start` where none is on its way. An abort ends this caller's wait only. */
  async join(
    key: K,
    signal: AbortSignal | undefined,
    start: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    let flight = this.flights.get(key);
    if (flight === undefined) {
      flight = this.begin(key, start);
      this.flights.set(key, flight);
    }
    return this.wait(key, flight, signal);
  }

  /** Gives up all work: every caller gets `reason`. */
  abort(reason: unknown): void {
    for (const flight of this.flights.values()) flight.controller.abort(reason);
    this.flights.clear();
  }

  private begin(key: K, start: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const controller = new AbortController();
    const result = start(controller.signal).finally(() => {
      if (this.flights.get(key)?.controller === controller) this.flights.delete(key);
    });
    // Where all callers have gone nobody else hears of its end.
    result.catch(() => {});
    return { result, controller, callers: 0 };
  }

  private wait(key: K, flight: Flight<T>, signal: AbortSignal | undefined): Promise<T> {
    flight.callers++;
    if (signal === undefined) return flight.result;
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        reject(signal.reason);
        if (--flight.callers > 0) return;
        // Who asks after this begins anew instead of joining what is being given up.
        if (this.flights.get(key) === flight) this.flights.delete(key);
        flight.controller.abort(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      flight.result.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
    });
  }
}
