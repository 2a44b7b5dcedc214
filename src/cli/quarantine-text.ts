import { isUtf8 } from 'node:buffer';
import { timestampText } from '../core/iso-time.ts';
import { stringifyJson64 } from '../core/json64.ts';
import type { QuarantineSummary } from '../engine/requeue/quarantine-summary.ts';
import type { RequeueReport } from '../engine/requeue/requeue-report.ts';
import type { ShownRecord } from '../engine/requeue/shown-record.ts';
import { count, counted } from '../monitor/progress-line.ts';
import { textTable } from './text-table.ts';

/** What `quarantine list` found, for people: the first `limit` reasons of each quarantine. */
export function summariesText(summaries: readonly QuarantineSummary[], limit: number): string {
  if (summaries.length === 0) return 'no quarantine of this pipeline holds a record\n';
  return summaries
    .map(({ quarantine, records, requeued, groups }) => {
      const head = `${quarantine}: ${counted(records, 'record')}, ${count(requeued)} of them requeued\n`;
      if (groups.length === 0) return head;
      const rows = groups
        .slice(0, limit)
        .map((g) => [
          g.reason,
          visible(g.field) || '-',
          count(g.records),
          count(g.requeued),
          timeText(g.firstMicros),
          timeText(g.lastMicros),
          g.example === null ? '-' : `${g.example.topic}/${g.example.partition}/${g.example.offset}`,
        ]);
      const more = groups.length - rows.length;
      const table = textTable(
        ['reason', 'field', 'records', 'requeued', 'first', 'last', 'for example'],
        rows,
      );
      return `${head}${table}${more > 0 ? `and ${count(more)} more; --limit shows them\n` : ''}`;
    })
    .join('\n');
}

/** The same as one JSON object on a line. */
export function summariesJson(summaries: readonly QuarantineSummary[], limit: number): string {
  const quarantines = summaries.map((s) => ({
    ...s,
    groups: s.groups.slice(0, limit).map(({ firstMicros, lastMicros, example, ...group }) => ({
      ...group,
      first: timeJson(firstMicros),
      last: timeJson(lastMicros),
      example,
    })),
    moreGroups: Math.max(0, s.groups.length - limit),
  }));
  return `${stringifyJson64({ quarantines })}\n`;
}

/** One record for people. */
export function recordText(record: ShownRecord, isFirst: boolean): string {
  const facts: [string, string][] = [
    ['reason', `${record.reason}${record.field === '' ? '' : ` in ${visible(record.field)}`}`],
    ['message', visible(record.message)],
    ['time', timeText(record.timestampMicros)],
    [
      'set aside',
      `${timeText(record.quarantinedAtMicros)} by batch ${record.batchId ?? '-'} of ${visible(record.pipeline ?? '-')}`,
    ],
    ['in', `${record.quarantine}${record.requeued ? ', and requeued' : ''}`],
  ];
  if (record.schemaId !== null) facts.push(['schema id', String(record.schemaId)]);
  const lines = [
    `${isFirst ? '' : '\n'}${record.topic}/${record.partition}/${record.offset}`,
    ...facts.map(([name, text]) => `  ${name.padEnd(10)} ${text}`),
    ...bytesText('key', record.key),
    ...(record.headers ?? []).flatMap((h) => bytesText(`header ${visible(h.key)}`, h.value)),
    ...bytesText(record.whole ? 'value' : 'value (the beginning; the rest was not kept)', record.value),
  ];
  return `${lines.join('\n')}\n`;
}

/** One record as a JSON object on a line; bytes are base64. */
export function recordJson(record: ShownRecord): string {
  const base64 = (bytes: Uint8Array | null): string | null =>
    bytes === null ? null : Buffer.from(bytes).toString('base64');
  const { timestampMicros, quarantinedAtMicros, key, value, headers, ...rest } = record;
  return `${stringifyJson64({
    ...rest,
    timestamp: timeJson(timestampMicros),
    quarantinedAt: timeJson(quarantinedAtMicros),
    key: base64(key),
    value: base64(value),
    headers: headers?.map((h) => ({ key: h.key, value: base64(h.value) })) ?? null,
  })}\n`;
}

/** What a requeue did, or would do, for people. */
export function reportsText(reports: readonly RequeueReport[], executed: boolean): string {
  if (reports.length === 0) return 'no quarantine of this pipeline holds a record\n';
  const texts = reports.map(reportText);
  const canDo = !executed && reports.some((r) => Object.keys(r.rows).length > 0 || r.finished.length > 0);
  if (canDo) texts.push('nothing was written; --execute does it\n');
  return texts.join('\n');
}

function reportText(report: RequeueReport): string {
  const { quarantine, executed, records, rows, already, busy, unplaced, staying, requeues, finished } =
    report;
  const lines = [`${quarantine}: ${counted(records, 'record')}`];
  for (const { requeueId, table, rows: n } of finished)
    lines.push(
      executed
        ? `  requeue ${requeueId}, which was cut off, is finished: ${counted(n, 'row')} in ${table}`
        : `  requeue ${requeueId} did not end: --execute finishes it first (${counted(n, 'row')} into ${table})`,
    );
  for (const [table, n] of Object.entries(rows))
    lines.push(`  ${count(n)} ${executed ? 'went back into' : 'would become rows of'} ${table}`);
  for (const { requeueId, snapshotId, rows: n } of requeues)
    lines.push(`    requeue ${requeueId}: ${counted(n, 'row')}, snapshot ${snapshotId}`);
  if (already > 0) lines.push(`  ${count(already)} had gone back before`);
  if (busy > 0) lines.push(`  ${count(busy)} belong to requeues that are not finished`);
  if (unplaced > 0) lines.push(`  ${count(unplaced)} rows say no topic, partition and offset: left alone`);
  const kept = staying.reduce((n, s) => n + s.count, 0);
  if (kept > 0) {
    lines.push(`  ${count(kept)} stay in the quarantine`);
    const cells = staying.map((s) => [
      s.was,
      s.reason,
      visible(s.field) || '-',
      count(s.count),
      s.example,
      clipped(visible(s.message)),
    ]);
    const table = textTable(['was', 'is', 'field', 'records', 'for example', ''], cells);
    lines.push(
      ...table
        .trimEnd()
        .split('\n')
        .map((line) => `    ${line}`),
    );
  }
  return `${lines.join('\n')}\n`;
}

const MAX_MESSAGE = 120;

function clipped(text: string): string {
  return text.length <= MAX_MESSAGE ? text : `${text.slice(0, MAX_MESSAGE - 3)}...`;
}

/** In UTC. */
function timeJson(micros: bigint | null): string | null {
  return micros === null ? null : `${timestampText(micros, 6)}Z`;
}

function timeText(micros: bigint | null): string {
  return timeJson(micros) ?? '-';
}

/** What comes from records must not move the cursor of a terminal. */
function visible(text: string): string {
  return text.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const BYTES_A_LINE = 16;
/** Of a dump; `--raw` writes all. */
const MAX_DUMP = 4096;
const MAX_TEXT = 16_384;

/** Text where the bytes are text, else a dump. */
function bytesText(name: string, bytes: Uint8Array | null): string[] {
  if (bytes === null) return [`  ${name}: null`];
  if (bytes.length === 0) return [`  ${name}: empty`];
  const text = isUtf8(bytes) ? Buffer.from(bytes).toString('utf8') : null;
  if (text !== null && visible(text.replace(/[\t\n\r]/g, '')) === text.replace(/[\t\n\r]/g, '')) {
    const shown = text.slice(0, MAX_TEXT).replace(/\r(?!\n)/g, '\\r');
    const rest =
      text.length > MAX_TEXT
        ? [`    ... ${count(text.length - MAX_TEXT)} more characters; --raw writes all`]
        : [];
    return [
      `  ${name}, ${count(bytes.length)} bytes of text:`,
      ...shown.split(/\r?\n/).map((line) => `    ${line}`),
      ...rest,
    ];
  }
  const lines = [`  ${name}, ${count(bytes.length)} bytes:`];
  for (let at = 0; at < Math.min(bytes.length, MAX_DUMP); at += BYTES_A_LINE) {
    const line = bytes.subarray(at, at + BYTES_A_LINE);
    const hex = [...line].map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = [...line]
      .map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.'))
      .join('');
    lines.push(`    ${at.toString(16).padStart(8, '0')}  ${hex.padEnd(BYTES_A_LINE * 3 - 1)}  |${ascii}|`);
  }
  if (bytes.length > MAX_DUMP)
    lines.push(`    ... ${count(bytes.length - MAX_DUMP)} more bytes; --raw writes all`);
  return lines;
}
