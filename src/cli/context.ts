/** What a command knows of the process: everything that is `process.*` comes in here, and only here. */
export interface CliContext {
  env: Readonly<Record<string, string | undefined>>;
  cwd: string;
  version: string;
  /** Data for the reader of the command. */
  stdout: Out;
  /** Bytes as they are, to the same reader. */
  writeBytes(bytes: Uint8Array): void;
  /** Logs, progress, errors. */
  stderr: Out;
  /** The exit code where the command ends without an error; 0 at first. */
  exitCode: number;
  /** Called where something that was given up may still hold the process: it ends as soon as the command has. */
  leave?(): void;
}

export interface Out {
  write(text: string): void;
  readonly terminal: boolean;
  /** Width of the terminal; undefined elsewhere. */
  columns(): number | undefined;
}

export type OutputFormat = 'text' | 'json';
