/** Types of process.mjs. */
import type { ChildProcess } from 'node:child_process';

export declare class SetupError extends Error {
  constructor(message: string, exitCode?: number);
  readonly exitCode: number;
}
export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  inherit?: boolean;
  timeoutMs?: number;
}
export declare function which(name: string, env?: NodeJS.ProcessEnv): string | undefined;
export declare function run(
  command: string,
  args: string[],
  options?: RunOptions,
): Promise<{ code: number; stdout: string; stderr: string }>;
export declare function atExit(cleanup: () => unknown): () => void;
export declare function isAlive(pid: number): boolean;
export declare function guard(script: string, args: string[]): () => void;
export declare function guardProcess(pid: number): () => void;
export declare function stopChild(child: ChildProcess, graceMs?: number): Promise<void>;
export declare function stopPid(pid: number, graceMs?: number): Promise<void>;
export declare function pause(ms: number): Promise<void>;
export declare function runMain(main: () => Promise<number>): Promise<void>;
