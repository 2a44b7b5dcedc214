import { describe, expect, it } from 'vitest';
import { AbortedTransactions } from '../../../src/kafka/aborted-transactions.ts';

describe('AbortedTransactions', () => {
  it('opens a transaction when its first offset is reached, whatever the order of the list', () => {
    const state = new AbortedTransactions();
    state.begin([
      { producerId: 2n, firstOffset: 50n },
      { producerId: 1n, firstOffset: 10n },
    ]);
    state.advanceTo(9n);
    expect(state.isAborted(1n)).toBe(false);
    state.advanceTo(10n);
    expect(state.isAborted(1n)).toBe(true);
    expect(state.isAborted(2n)).toBe(false);
    state.advanceTo(60n);
    expect(state.isAborted(2n)).toBe(true);
  });

  it('opens one that began before the response', () => {
    const state = new AbortedTransactions();
    state.begin([{ producerId: 1n, firstOffset: 3n }]);
    state.advanceTo(1000n);
    expect(state.isAborted(1n)).toBe(true);
  });

  it('closes it at its marker, and opens the next one of the same producer', () => {
    const state = new AbortedTransactions();
    state.begin([
      { producerId: 1n, firstOffset: 10n },
      { producerId: 1n, firstOffset: 40n },
    ]);
    state.advanceTo(20n);
    state.passAbortMarker(1n, 20n);
    expect(state.isAborted(1n)).toBe(false);
    state.advanceTo(39n);
    expect(state.isAborted(1n)).toBe(false);
    state.advanceTo(41n);
    expect(state.isAborted(1n)).toBe(true);
  });

  it('believes each response anew: what it does not list is not aborted', () => {
    const state = new AbortedTransactions();
    state.begin([{ producerId: 1n, firstOffset: 10n }]);
    state.advanceTo(20n);
    state.begin([]);
    state.advanceTo(30n);
    expect(state.isAborted(1n)).toBe(false);
  });

  it('does not open again a transaction whose marker it has passed, though the response is begun again', () => {
    const state = new AbortedTransactions();
    const list = [
      { producerId: 1n, firstOffset: 10n },
      { producerId: 1n, firstOffset: 40n },
    ];
    state.begin(list);
    state.advanceTo(20n);
    state.passAbortMarker(1n, 20n);
    state.begin(list);
    state.advanceTo(30n);
    expect(state.isAborted(1n)).toBe(false);
    state.advanceTo(40n);
    expect(state.isAborted(1n)).toBe(true);
  });

  it('is not moved by the marker of a producer that is not aborted', () => {
    const state = new AbortedTransactions();
    state.begin([{ producerId: 1n, firstOffset: 10n }]);
    state.passAbortMarker(1n, 5n);
    state.advanceTo(10n);
    expect(state.isAborted(1n)).toBe(true);
  });
});
