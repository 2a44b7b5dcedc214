/** Maps of up to so many entries are compared pair by pair. */
const FEW = 12;

/**
 * The keys of the maps that are being read, to find those that stand twice. A stack, since maps stand in maps: each map
 * begins at a mark and gives its keys back when it ends.
 */
export class MapKeys {
  private bytes = new Uint8Array(1024);
  private starts = new Uint32Array(64);
  private count = 0;

  /** Gives the mark of a new map. */
  begin(): number {
    return this.count;
  }

  end(mark: number): void {
    this.count = mark;
  }

  /** Forgets every map; after a fault. */
  clear(): void {
    this.count = 0;
  }

  add(text: Uint8Array, from: number, until: number): void {
    const { count } = this;
    const start = this.starts[count];
    const end = start + until - from;
    if (end > this.bytes.length) {
      const bytes = new Uint8Array(Math.max(end, this.bytes.length * 2));
      bytes.set(this.bytes.subarray(0, start));
      this.bytes = bytes;
    }
    if (count + 2 > this.starts.length) {
      const starts = new Uint32Array(this.starts.length * 2);
      starts.set(this.starts);
      this.starts = starts;
    }
    for (let to = start, at = from; at < until; ) this.bytes[to++] = text[at++];
    this.starts[count + 1] = end;
    this.count = count + 1;
  }

  /** Ordinals of the map's keys that stand again behind; null where none does. */
  earlierTwins(mark: number): ReadonlySet<number> | null {
    return this.count - mark <= FEW ? this.twinsOfFew(mark) : this.twinsOfMany(mark);
  }

  private twinsOfFew(mark: number): Set<number> | null {
    let twins: Set<number> | null = null;
    for (let i = mark; i < this.count; i++) {
      for (let j = i + 1; j < this.count; j++) {
        if (!this.same(i, j)) continue;
        twins ??= new Set();
        twins.add(i - mark);
        break;
      }
    }
    return twins;
  }

  /** From the last key to the first, by a table of the engine's, whose hashes cannot be foreseen. */
  private twinsOfMany(mark: number): Set<number> | null {
    const bytes = Buffer.from(this.bytes.buffer);
    const met = new Set<string>();
    let twins: Set<number> | null = null;
    for (let i = this.count - 1; i >= mark; i--) {
      const key = bytes.toString('latin1', this.starts[i], this.starts[i + 1]);
      if (met.has(key)) {
        twins ??= new Set();
        twins.add(i - mark);
      }
      met.add(key);
    }
    return twins;
  }

  private same(a: number, b: number): boolean {
    const { bytes, starts } = this;
    const from = starts[a];
    const length = starts[a + 1] - from;
    if (starts[b + 1] - starts[b] !== length) return false;
    for (let i = 0; i < length; i++) if (bytes[from + i] !== bytes[starts[b] + i]) return false;
    return true;
  }
}
