/** Repetition and definition levels of the entries of one leaf, or of a group, for a block of rows. */
export class Levels {
  repetition = new Uint8Array(1024);
  definition = new Uint8Array(1024);
  length = 0;

  append(repetition: number, definition: number): void {
    if (this.length === this.repetition.length) this.reserve(this.length + 1);
    this.repetition[this.length] = repetition;
    this.definition[this.length++] = definition;
  }

  /** Makes room for `length` entries in all. */
  reserve(length: number): void {
    if (length <= this.repetition.length) return;
    const capacity = Math.max(length, this.repetition.length * 2);
    this.repetition = grown(this.repetition, capacity);
    this.definition = grown(this.definition, capacity);
  }
}

function grown(bytes: Uint8Array, capacity: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(capacity);
  larger.set(bytes);
  return larger;
}
