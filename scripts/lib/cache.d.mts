/** Types of cache.mjs. */
export declare function cacheDirectory(env?: NodeJS.ProcessEnv): string;
export declare function hashOf(parts: (string | Buffer)[]): string;
export declare function sha256OfFile(path: string): string;
export declare function cached(
  name: string,
  pins: (string | Buffer)[],
  fill: (directory: string) => Promise<void>,
  options?: { inPlace?: boolean; env?: NodeJS.ProcessEnv },
): Promise<string>;
export declare function withLock<T>(path: string, body: () => Promise<T>): Promise<T>;
