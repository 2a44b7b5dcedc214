/** Containers that Jackson lets stand in each other, and digits of a number (StreamReadConstraints). */
export const MAX_DEPTH = 1000;
export const MAX_NUMBER_DIGITS = 1000;

/** A text that Jackson does not take; the position is that of a UTF-16 unit. No stack is taken; see `JsonFault`. */
export class SparkSyntaxError {
  readonly message: string;
  readonly at: number;
  constructor(message: string, at: number) {
    this.message = message;
    this.at = at;
  }
}
