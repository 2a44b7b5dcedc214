/** The options under `registry`, by the names of Confluent's clients. */
import type { Option } from './option.ts';

const SINCE = '0.1.0';

const option = (key: string, doc: string, type: Option['type'], more: Partial<Option> = {}): Option => ({
  section: 'registry',
  key,
  doc,
  type,
  since: SINCE,
  ...more,
});

export const REGISTRY_OPTIONS: readonly Option[] = [
  option(
    'schema.registry.url',
    'Its address, or several of one registry with commas: `https://a:8081,https://b:8081`.',
    { kind: 'text' },
    { env: 'SLUICE_SCHEMA_REGISTRY_URL' },
  ),
  option('basic.auth.user.info', '`user:password`.', { kind: 'text' }, { secret: true }),
  option('bearer.auth.token', 'A token instead of them.', { kind: 'text' }, { secret: true }),
  option(
    'schema.registry.ssl.truststore.location',
    'PEM file of the authorities that are trusted; without it those that Node brings.',
    { kind: 'text' },
  ),
  option('schema.registry.ssl.keystore.location', 'PEM file with the own certificate and its key.', {
    kind: 'text',
  }),
  option('schema.registry.ssl.key.password', 'The password of that key.', { kind: 'text' }, { secret: true }),
  option(
    'schema.registry.ssl.endpoint.identification.algorithm',
    '`https` compares the name in the certificate with the host; the empty text turns that off.',
    { kind: 'choice', values: ['https', ''] },
    { default: 'https' },
  ),
  option(
    'schema.registry.request.timeout.ms',
    'How long one request may take.',
    { kind: 'integer', min: 1, max: 3_600_000 },
    { default: 10_000, unit: 'ms' },
  ),
  option(
    'schema.registry.deadline.ms',
    'How long a registry that does not answer is asked again before the run stops; no record is set aside for its fault.',
    { kind: 'integer', min: 1, max: 86_400_000 },
    { default: 300_000, unit: 'ms' },
  ),
];
