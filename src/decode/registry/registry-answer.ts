import type { RegistryResponse } from './registry-request.ts';

/** A registry's own word that it does not have what was asked for: 40401 no subject, 40402 no version, 40403 no schema. */
export type MissingCode = 40401 | 40402 | 40403;

/** A schema as an answer gives it. */
export interface SchemaBody {
  readonly type: string;
  readonly schema: string;
  readonly references: readonly SchemaReference[];
  /** Of an answer about a subject; null else. */
  readonly id: number | null;
  readonly version: number | null;
}

export interface SchemaReference {
  readonly name: string;
  readonly subject: string;
  readonly version: number;
}

/**
 * What an answer means. `busy`: it may pass (5xx, 429, a torn body). `foreign`: no Schema Registry speaks so; another
 * service or base path, a redirect, a page of a proxy. `denied`: 401 or 403.
 */
export type RegistryAnswer =
  | { readonly kind: 'schema'; readonly body: SchemaBody }
  | { readonly kind: 'missing'; readonly code: MissingCode }
  | { readonly kind: 'denied'; readonly what: string }
  | { readonly kind: 'busy'; readonly what: string; readonly retryAfterMs: number | null }
  | { readonly kind: 'foreign'; readonly what: string };

const MAX_REFERENCES = 1000;

/**
 * Reads an answer of `GET /schemas/ids/{id}` or `GET /subjects/{subject}/versions/{version}` (Confluent's API; Karapace
 * and Apicurio speak it too). A 404 without the registry's own error code is no word about the schema.
 */
export function readAnswer(response: RegistryResponse): RegistryAnswer {
  const { status, retryAfterMs } = response;
  const said = saidIn(response.body);
  if (status === 401 || status === 403) return { kind: 'denied', what: `status ${status}${said.text}` };
  if (status === 404 && isMissing(said.code)) return { kind: 'missing', code: said.code };
  if (status === 429 || status === 408 || status >= 500)
    return { kind: 'busy', what: `status ${status}${said.text}`, retryAfterMs };
  if (status >= 300 && status < 400) {
    const to = response.location === null ? '' : ` to ${withoutSecrets(response.location)}`;
    return { kind: 'foreign', what: `status ${status}, a redirect${to}, which is not followed` };
  }
  if (status !== 200)
    return { kind: 'foreign', what: `status ${status}${said.text || ` and ${bodyKind(response)}`}` };
  if (said.value === undefined) {
    return response.body.trimStart().startsWith('{')
      ? { kind: 'busy', what: 'a torn answer: it is not whole JSON', retryAfterMs: null }
      : { kind: 'foreign', what: `status 200 and ${bodyKind(response)}` };
  }
  const body = schemaIn(said.value);
  return typeof body === 'string' ? { kind: 'foreign', what: `JSON ${body}` } : { kind: 'schema', body };
}

function isMissing(code: unknown): code is MissingCode {
  return code === 40401 || code === 40402 || code === 40403;
}

/** The JSON of a body, and `error_code` and `message` of it for people: printable, short. */
function saidIn(body: string): { value?: unknown; code?: unknown; text: string } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { text: '' };
  }
  if (typeof value !== 'object' || value === null) return { value, text: '' };
  const { error_code: code, message } = value as { error_code?: unknown; message?: unknown };
  const parts = [
    ...(typeof code === 'number' ? [`error_code ${code}`] : []),
    ...(typeof message === 'string' ? [message.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)] : []),
  ];
  return { value, code, text: parts.length === 0 ? '' : ` (${parts.join(': ')})` };
}

function bodyKind({ body, contentType }: RegistryResponse): string {
  if (body === '') return 'an empty body';
  return `${contentType.split(';')[0] || 'a body of no type'} of ${body.length} characters, no JSON of a registry`;
}

/** A redirect may carry tokens in its query. */
function withoutSecrets(location: string): string {
  return location
    .replace(/[?#].*$/s, '')
    .replace(/\/\/[^/@]*@/, '//')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 200);
}

/** The schema of an answer, or what is wrong with it. */
function schemaIn(value: unknown): SchemaBody | string {
  const found = value as Record<string, unknown> | null;
  if (typeof found !== 'object' || found === null || typeof found.schema !== 'string')
    return 'without a schema in it';
  // Left out, it is Avro: the other types came later.
  const type = found.schemaType ?? 'AVRO';
  if (typeof type !== 'string') return 'with a schemaType that is no text';
  const references = found.references ?? [];
  if (!Array.isArray(references)) return 'with references that are no list';
  if (references.length > MAX_REFERENCES)
    return `with ${references.length} references; at most ${MAX_REFERENCES} are read`;
  const read: SchemaReference[] = [];
  for (const reference of references as Record<string, unknown>[]) {
    const { name, subject, version } = reference ?? {};
    if (typeof name !== 'string' || typeof subject !== 'string' || !Number.isSafeInteger(version))
      return 'with a reference that lacks name, subject or version';
    read.push({ name, subject, version: version as number });
  }
  const whole = (x: unknown): number | null => (Number.isSafeInteger(x) ? (x as number) : null);
  return {
    type: type.toUpperCase(),
    schema: found.schema,
    references: read,
    id: whole(found.id),
    version: whole(found.version),
  };
}
