/** A file of the checkpoint is not what it should be; `Checkpoint` turns it into an error that names the file and its repair. */
export class Malformed extends Error {
  readonly kind: 'corrupt' | 'version';

  constructor(message: string, kind: 'corrupt' | 'version' = 'corrupt') {
    super(message);
    this.name = 'Malformed';
    this.kind = kind;
  }
}

/** The text of a file: strict UTF-8. Throws Malformed. */
export function decodeText(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Malformed('it is empty');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Malformed('it is not UTF-8 text');
  }
}

/** The first characters of a text, for an error message. */
export function excerpt(text: string, length = 60): string {
  return JSON.stringify(text.length <= length ? text : `${text.slice(0, length)}...`);
}
