/**
 * XXH64 with seed 0 (xxHash specification), for bloom filters. 64-bit numbers are pairs of 32-bit words: BigInt would
 * allocate for every step. The result is left in `hashLow` and `hashHigh`.
 */
export class XxHash64 {
  low = 0;
  high = 0;
  private readonly lanes = new Int32Array(8);

  /** Hashes `data[from, until)`; the result is in `low` and `high` (signed words). */
  hash(data: Uint8Array, from: number, until: number): void {
    const length = until - from;
    let at = from;
    if (length >= 32) at = this.stripes(data, from, until);
    else this.set(P5L, P5H);
    this.add(length | 0, Math.floor(length / 4294967296));
    this.tail(data, at, until);
    this.avalanche();
  }

  /** Rounds over whole stripes of 32 bytes; returns where they end. */
  private stripes(data: Uint8Array, from: number, until: number): number {
    const { lanes } = this;
    this.set(P1L, P1H);
    this.add(P2L, P2H);
    lanes[0] = this.low;
    lanes[1] = this.high;
    lanes[2] = P2L;
    lanes[3] = P2H;
    lanes[4] = 0;
    lanes[5] = 0;
    // 0 - P1
    this.set(~P1L, ~P1H);
    this.add(1, 0);
    lanes[6] = this.low;
    lanes[7] = this.high;
    let at = from;
    for (; at + 32 <= until; at += 32) {
      for (let lane = 0; lane < 4; lane++) {
        this.set(lanes[lane * 2], lanes[lane * 2 + 1]);
        this.round(word(data, at + lane * 8), word(data, at + lane * 8 + 4));
        lanes[lane * 2] = this.low;
        lanes[lane * 2 + 1] = this.high;
      }
    }
    this.mergeLanes();
    return at;
  }

  private mergeLanes(): void {
    const { lanes } = this;
    let low = 0;
    let high = 0;
    const turns = [1, 7, 12, 18];
    for (let lane = 0; lane < 4; lane++) {
      this.set(lanes[lane * 2], lanes[lane * 2 + 1]);
      this.rotate(turns[lane]);
      this.add(low, high);
      low = this.low;
      high = this.high;
    }
    for (let lane = 0; lane < 4; lane++) {
      this.set(0, 0);
      this.round(lanes[lane * 2], lanes[lane * 2 + 1]);
      low ^= this.low;
      high ^= this.high;
      this.set(low, high);
      this.multiply(P1L, P1H);
      this.add(P4L, P4H);
      low = this.low;
      high = this.high;
    }
  }

  private tail(data: Uint8Array, from: number, until: number): void {
    let at = from;
    for (; at + 8 <= until; at += 8) {
      const low = this.low;
      const high = this.high;
      this.set(0, 0);
      this.round(word(data, at), word(data, at + 4));
      this.set(this.low ^ low, this.high ^ high);
      this.rotate(27);
      this.multiply(P1L, P1H);
      this.add(P4L, P4H);
    }
    if (at + 4 <= until) {
      const low = this.low;
      const high = this.high;
      this.set(word(data, at), 0);
      this.multiply(P1L, P1H);
      this.set(this.low ^ low, this.high ^ high);
      this.rotate(23);
      this.multiply(P2L, P2H);
      this.add(P3L, P3H);
      at += 4;
    }
    for (; at < until; at++) {
      const low = this.low;
      const high = this.high;
      this.set(data[at], 0);
      this.multiply(P5L, P5H);
      this.set(this.low ^ low, this.high ^ high);
      this.rotate(11);
      this.multiply(P1L, P1H);
    }
  }

  private avalanche(): void {
    this.low ^= this.high >>> 1;
    this.multiply(P2L, P2H);
    const low = this.low ^ ((this.low >>> 29) | (this.high << 3));
    this.set(low, this.high ^ (this.high >>> 29));
    this.multiply(P3L, P3H);
    this.low ^= this.high;
  }

  /** acc = rotl(acc + input * P2, 31) * P1 */
  private round(inputLow: number, inputHigh: number): void {
    const low = this.low;
    const high = this.high;
    this.set(inputLow, inputHigh);
    this.multiply(P2L, P2H);
    this.add(low, high);
    this.rotate(31);
    this.multiply(P1L, P1H);
  }

  private set(low: number, high: number): void {
    this.low = low | 0;
    this.high = high | 0;
  }

  private add(low: number, high: number): void {
    const sum = (this.low >>> 0) + (low >>> 0);
    this.low = sum | 0;
    this.high = (this.high + high + (sum > 0xffff_ffff ? 1 : 0)) | 0;
  }

  /** By 1 to 31 bits. */
  private rotate(bits: number): void {
    const { low, high } = this;
    this.low = (low << bits) | (high >>> (32 - bits));
    this.high = (high << bits) | (low >>> (32 - bits));
  }

  private multiply(low: number, high: number): void {
    const a = this.low;
    const a0 = a & 0xffff;
    const a1 = a >>> 16;
    const b0 = low & 0xffff;
    const b1 = low >>> 16;
    const p00 = a0 * b0;
    const middle = a1 * b0 + (p00 >>> 16);
    const middle2 = a0 * b1 + (middle % 65536);
    const carry = a1 * b1 + Math.floor(middle / 65536) + Math.floor(middle2 / 65536);
    this.high = (Math.imul(this.high, low) + Math.imul(a, high) + (carry | 0)) | 0;
    this.low = ((middle2 & 0xffff) << 16) | (p00 & 0xffff);
  }
}

const P1L = 0x85ebca87 | 0;
const P1H = 0x9e3779b1 | 0;
const P2L = 0x27d4eb4f | 0;
const P2H = 0xc2b2ae3d | 0;
const P3L = 0x9e3779f9 | 0;
const P3H = 0x165667b1 | 0;
const P4L = 0xc2b2ae63 | 0;
const P4H = 0x85ebca77 | 0;
const P5L = 0x165667c5 | 0;
const P5H = 0x27d4eb2f | 0;

/** Little-endian word. */
function word(data: Uint8Array, at: number): number {
  return data[at] | (data[at + 1] << 8) | (data[at + 2] << 16) | (data[at + 3] << 24);
}
