/** Numbers by byte strings, found without making a text of the bytes. */
export class ByteMap {
  private readonly buckets = new Map<number, { bytes: Uint8Array; value: number }[]>();
  private readonly max: number;
  private size = 0;

  /** Beyond `max` entries all are forgotten. */
  constructor(max = Number.POSITIVE_INFINITY) {
    this.max = max;
  }

  set(bytes: Uint8Array, value: number): void {
    if (this.size >= this.max) {
      this.buckets.clear();
      this.size = 0;
    }
    this.size++;
    const hash = hashOf(bytes, 0, bytes.length);
    const bucket = this.buckets.get(hash);
    if (bucket === undefined) this.buckets.set(hash, [{ bytes, value }]);
    else bucket.push({ bytes, value });
  }

  /** The number of bytes[from, until), or -1. */
  get(bytes: Uint8Array, from: number, until: number): number {
    const bucket = this.buckets.get(hashOf(bytes, from, until));
    if (bucket === undefined) return -1;
    for (const entry of bucket) if (isSame(entry.bytes, bytes, from, until)) return entry.value;
    return -1;
  }
}

/** FNV-1a in 32 bits. */
function hashOf(bytes: Uint8Array, from: number, until: number): number {
  let hash = 0x811c9dc5;
  for (let at = from; at < until; at++) hash = Math.imul(hash ^ bytes[at], 0x01000193);
  return hash;
}

function isSame(a: Uint8Array, b: Uint8Array, from: number, until: number): boolean {
  if (a.length !== until - from) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[from + i]) return false;
  return true;
}
