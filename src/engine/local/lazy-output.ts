import type { FileIO, OutputFile } from '../../storage/file-io.ts';

/** An output file that is created at its first write, so that a synchronous `append` can begin one. */
export class LazyOutput implements OutputFile {
  readonly path: string;
  private readonly io: FileIO;
  private file: OutputFile | undefined;

  constructor(io: FileIO, path: string) {
    this.io = io;
    this.path = path;
  }

  get position(): number {
    return this.file?.position ?? 0;
  }

  async write(bytes: Uint8Array): Promise<void> {
    this.file ??= await this.io.create(this.path);
    await this.file.write(bytes);
  }

  async close(): Promise<void> {
    this.file ??= await this.io.create(this.path);
    await this.file.close();
  }

  async abort(): Promise<void> {
    await this.file?.abort();
  }
}
