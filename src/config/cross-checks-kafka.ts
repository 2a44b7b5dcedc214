import type { Report } from './fault.ts';
import { KAFKA_OPTIONS } from './kafka-options.ts';
import { isSecretReference, parseJaas } from './secrets.ts';
import type { Values } from './values.ts';

/** Security options that do not fit together: the Java client passes over most of these in silence. */
export function checkKafka(values: Values, protocols: readonly string[], fault: Report, warn: Report): void {
  const at = (key: string) => ['source', `kafka.${key}`];
  const has = (key: string) => values.has('source', `kafka.${key}`);
  const protocol = values.get<string>('source', 'kafka.security.protocol');
  const mechanism = values.get<string>('source', 'kafka.sasl.mechanism');
  if (protocol !== undefined && !protocols.includes(protocol)) {
    const can = protocols.join(', ');
    fault(
      'UNSUPPORTED',
      at('security.protocol'),
      `${protocol} is not in this version, only ${can}; reach the cluster through such a listener`,
    );
    return;
  }
  if (protocol?.startsWith('SASL_')) {
    if (!has('sasl.mechanism'))
      fault(
        'MISSING_OPTION',
        at('sasl.mechanism'),
        `security.protocol ${protocol} needs a mechanism: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER`,
      );
    checkCredentials(values, mechanism, fault);
  } else if (protocol !== undefined) {
    for (const option of KAFKA_OPTIONS) {
      if (option.key.startsWith('kafka.sasl.') && values.has('source', option.key)) {
        fault(
          'CONTRADICTION',
          ['source', option.key],
          `security.protocol ${protocol} does not log in; use SASL_PLAINTEXT or SASL_SSL`,
        );
      }
    }
  }
  if (protocol !== undefined && !protocol.endsWith('SSL')) {
    for (const option of KAFKA_OPTIONS) {
      if (option.key.startsWith('kafka.ssl.') && values.has('source', option.key)) {
        warn(
          'NO_EFFECT',
          ['source', option.key],
          `no effect: security.protocol ${protocol} is not encrypted`,
        );
      }
    }
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
  checkPlainSecrets(values, warn);
}

function checkCredentials(values: Values, mechanism: string | undefined, fault: Report): void {
  const at = (key: string) => ['source', `kafka.${key}`];
  const has = (key: string) => values.has('source', `kafka.${key}`);
  if (mechanism === 'OAUTHBEARER') {
    if (!has('sasl.oauthbearer.token'))
      fault('MISSING_OPTION', at('sasl.oauthbearer.token'), 'OAUTHBEARER needs a token');
    return;
  }
  if (has('sasl.jaas.config')) {
    for (const key of ['sasl.username', 'sasl.password']) {
      if (has(key))
        fault('CONTRADICTION', at(key), 'kafka.sasl.jaas.config is given too; one of them is enough');
    }
    const jaas = values.get<string>('source', 'kafka.sasl.jaas.config');
    if (
      jaas !== undefined &&
      !isSecretReference(values.written('source', 'kafka.sasl.jaas.config') ?? '') &&
      parseJaas(jaas) === undefined
    ) {
      fault(
        'WRONG_VALUE',
        at('sasl.jaas.config'),
        'expected PlainLoginModule or ScramLoginModule with username="..." and password="..."',
      );
    }
    return;
  }
  if (mechanism === undefined) return;
  for (const key of ['sasl.username', 'sasl.password']) {
    if (!has(key))
      fault('MISSING_OPTION', at(key), `${mechanism} needs kafka.sasl.username and kafka.sasl.password`);
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
