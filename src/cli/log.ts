import { type LevelWithSilent, pino } from 'pino';
import { parseJson64, stringifyJson64 } from '../core/json64.ts';
import type { Out } from './context.ts';

export type LogFormat = 'json' | 'text';
export type LogLevel = Exclude<LevelWithSilent, 'fatal' | 'trace'>;

/** What the rooms log to; the context holds facts, never secrets. */
export interface Log {
  debug(message: string, context?: object): void;
  info(message: string, context?: object): void;
  warn(message: string, context?: object): void;
  error(message: string, context?: object): void;
}

export interface LogOptions {
  out: Out;
  format: LogFormat;
  level: LogLevel;
  /** Called before a line is written, so that a progress line can make room. */
  beforeLine?: () => void;
}

/** JSON lines by pino, or one plain line an event for people. */
export function createLog(options: LogOptions): Log {
  const write = (line: string): void => {
    options.beforeLine?.();
    options.out.write(options.format === 'json' ? line : textLine(line));
  };
  const logger = pino(
    {
      level: options.level,
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write },
  );
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, context?: object) =>
    logger[level](context ?? {}, message);
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** `09:05:06 warn  message  key=value`. Lists are for programs: what a person needs of them is in the message. */
function textLine(json: string): string {
  const { level, time, message, ...context } = parseJson64(json) as Record<string, unknown>;
  const facts = Object.entries(context)
    .filter(([, value]) => !Array.isArray(value))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : stringifyJson64(value)}`);
  const end = facts.length === 0 ? '' : `  ${facts.join(' ')}`;
  return `${String(time).slice(11, 19)} ${String(level).padEnd(5)} ${String(message)}${end}\n`;
}
