import type { Report } from './fault.ts';
import { KAFKA_OPTIONS } from './kafka-options.ts';
import type { Option } from './option.ts';
import { isSecretReference } from './secrets.ts';
import type { Values } from './values.ts';

/** Security options that do not fit together: the Java client passes over most of these in silence. */
export function checkKafka(values: Values, fault: Report, warn: Report): void {
  const at = (key: string) => ['source', `kafka.${key}`];
  const has = (key: string) => values.has('source', `kafka.${key}`);
  const protocol = values.get<string>('source', 'kafka.security.protocol');
  if (protocol?.startsWith('SASL_')) {
    if (!has('sasl.mechanism'))
      fault(
        'MISSING_OPTION',
        at('sasl.mechanism'),
        `security.protocol ${protocol} needs a mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER`,
      );
    checkCredentials(values, fault);
    checkClearText(values, protocol, warn);
  } else if (protocol !== undefined) {
    for (const { key } of given(values, 'kafka.sasl.')) {
      fault(
        'CONTRADICTION',
        ['source', key],
        `security.protocol ${protocol} does not log in; use SASL_PLAINTEXT or SASL_SSL`,
      );
    }
  }
  if (protocol !== undefined && !protocol.endsWith('SSL')) {
    const options = given(values, 'kafka.ssl.');
    // Whoever names an authority and forgets the protocol would send everything in plain text.
    if (options.length > 0 && !has('security.protocol'))
      fault(
        'CONTRADICTION',
        ['source', options[0].key],
        'kafka.security.protocol is not given, so nothing would be encrypted; say SSL or SASL_SSL',
      );
    else
      for (const { key } of options)
        warn('NO_EFFECT', ['source', key], `no effect: security.protocol ${protocol} is not encrypted`);
  }
  for (const [one, other] of [
    ['ssl.truststore.location', 'ssl.truststore.certificates'],
    ['ssl.keystore.location', 'ssl.keystore.certificate.chain'],
  ]) {
    if (has(one) && has(other))
      fault('CONTRADICTION', at(other), `kafka.${one} is given too; one of them is enough`);
  }
  if (has('ssl.keystore.certificate.chain') !== has('ssl.keystore.key')) {
    const missing = has('ssl.keystore.key') ? 'ssl.keystore.certificate.chain' : 'ssl.keystore.key';
    fault('MISSING_OPTION', at(missing), 'a certificate and its key go together');
  }
  if (has('ssl.keystore.password') && values.get('source', 'kafka.ssl.keystore.type') === 'PEM') {
    fault(
      'CONTRADICTION',
      at('ssl.keystore.password'),
      'a keystore of PEM has no password; that of its key is kafka.ssl.key.password',
    );
  }
  checkPlainSecrets(values, warn);
}

function given(values: Values, prefix: string): Option[] {
  return KAFKA_OPTIONS.filter(({ key }) => key.startsWith(prefix) && values.has('source', key));
}

/** A JAAS text itself is checked where it is read: it may be a reference. */
function checkCredentials(values: Values, fault: Report): void {
  const at = (key: string) => ['source', `kafka.${key}`];
  const has = (key: string) => values.has('source', `kafka.${key}`);
  const mechanism = values.get<string>('source', 'kafka.sasl.mechanism');
  const byJaas = has('sasl.jaas.config');
  const credentials =
    mechanism === 'OAUTHBEARER'
      ? ['sasl.oauthbearer.client.credentials.client.id', 'sasl.oauthbearer.client.credentials.client.secret']
      : ['sasl.username', 'sasl.password'];
  if (byJaas) {
    for (const key of credentials)
      if (has(key))
        fault('CONTRADICTION', at(key), 'kafka.sasl.jaas.config is given too; one of them is enough');
  }
  if (mechanism === 'OAUTHBEARER') checkToken(values, credentials, fault);
  else if (mechanism !== undefined && !byJaas) {
    for (const key of credentials)
      if (!has(key))
        fault('MISSING_OPTION', at(key), `${mechanism} needs kafka.sasl.username and kafka.sasl.password`);
  }
}

function checkToken(values: Values, credentials: readonly string[], fault: Report): void {
  const at = (key: string) => ['source', `kafka.${key}`];
  const has = (key: string) => values.has('source', `kafka.${key}`);
  const url = 'sasl.oauthbearer.token.endpoint.url';
  if (has('sasl.oauthbearer.token')) {
    if (has(url))
      fault('CONTRADICTION', at(url), 'kafka.sasl.oauthbearer.token is given too; one of them is enough');
    return;
  }
  if (!has(url)) {
    fault(
      'MISSING_OPTION',
      at(url),
      'OAUTHBEARER needs kafka.sasl.oauthbearer.token.endpoint.url, or kafka.sasl.oauthbearer.token (a text, or a function in sluice.config.ts)',
    );
    return;
  }
  const address = values.get<string>('source', `kafka.${url}`);
  if (has('sasl.jaas.config') || address === undefined || address.startsWith('file:')) return;
  for (const key of credentials)
    if (!has(key))
      fault('MISSING_OPTION', at(key), 'the token endpoint asks for a client id and a client secret');
}

/** What goes over the network so that whoever listens can use it. */
function checkClearText(values: Values, protocol: string, warn: Report): void {
  const mechanism = values.get<string>('source', 'kafka.sasl.mechanism');
  const servers = values.get<string>('source', 'kafka.bootstrap.servers') ?? '';
  const loopback = /^(localhost|127\.[\d.]+|\[::1\])$/;
  const hosts = servers.split(',').map((server) => server.trim().replace(/:\d+$/, ''));
  const remote = !hosts.every((host) => loopback.test(host));
  if (protocol === 'SASL_PLAINTEXT' && remote && (mechanism === 'PLAIN' || mechanism === 'OAUTHBEARER')) {
    const what = mechanism === 'PLAIN' ? 'the password' : 'the token';
    warn(
      'LINT',
      ['source', 'kafka.security.protocol'],
      `${what} goes over the network unencrypted; use SASL_SSL where the brokers have it`,
    );
  }
  const url = values.get<string>('source', 'kafka.sasl.oauthbearer.token.endpoint.url') ?? '';
  if (url.startsWith('http://') && URL.canParse(url) && !loopback.test(new URL(url).hostname)) {
    warn(
      'LINT',
      ['source', 'kafka.sasl.oauthbearer.token.endpoint.url'],
      'the client secret goes over the network unencrypted; use https',
    );
  }
}

/** A secret that stands in the file in plain gets into version control sooner or later. */
function checkPlainSecrets(values: Values, warn: Report): void {
  for (const option of KAFKA_OPTIONS) {
    if (option.secret !== true || !values.has('source', option.key)) continue;
    const written = values.written('source', option.key);
    if (written !== undefined && !isSecretReference(written) && !written.includes('${')) {
      warn(
        'LINT',
        ['source', option.key],
        'a secret stands here in plain; give it as env:NAME, file:/path or exec:command',
      );
    }
  }
}
