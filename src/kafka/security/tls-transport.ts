import type { OnReadOpts } from 'node:net';
import tls from 'node:tls';
import { messageOf, SluiceError } from '../../errors.ts';
import { type BrokerAddress, formatAddress } from '../client-options.ts';
import { onread, type Transport } from '../transport.ts';
import type { TlsMaterial } from './tls-material.ts';

/** TLS with the certificates as they are now. Throws CONFIG_INVALID for those that cannot be used. */
export async function tlsTransport(material: TlsMaterial): Promise<Transport> {
  const secureContext = await material.secureContext();
  const { checkHostName } = material.settings;
  return {
    readyEvent: 'secureConnect',
    open(address, hooks) {
      const options: tls.ConnectionOptions & { onread: OnReadOpts } = {
        host: address.host,
        port: address.port,
        // A name of SNI is never an address (RFC 6066).
        servername: isAddress(address.host) ? undefined : address.host,
        secureContext,
        checkServerIdentity: checkHostName ? tls.checkServerIdentity : () => undefined,
        onread: onread(hooks),
      };
      const socket = tls.connect(options);
      return socket.setNoDelay(true).setKeepAlive(true);
    },
    faultOf: (error, address) => tlsFault(error, address, material.hasOwnCertificate),
  };
}

export function isAddress(host: string): boolean {
  return host.includes(':') || /^[\d.]+$/.test(host);
}

/** `context.tls` of an error: no record of TLS came back. */
export const NOT_TLS = 'NOT_TLS';

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

/** The faults that X.509 and TLS name; trying again does not mend them. */
export function tlsFault(error: Error, address: BrokerAddress, ownCertificate: boolean): SluiceError | null {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const broker = formatAddress(address);
  const fault = (text: string): SluiceError =>
    new SluiceError('KAFKA_TLS', `broker ${broker}: ${text}`, {
      context: { broker, tls: code },
      cause: error,
    });
  if (code === 'CERT_HAS_EXPIRED')
    return fault('its certificate, or one of those that vouch for it, has expired; renew it on the broker');
  if (code === 'CERT_NOT_YET_VALID')
    return fault('its certificate is not valid yet; are the clocks of the broker and of this machine right?');
  if (UNTRUSTED.has(code)) {
    return fault(
      `its certificate is not signed by an authority that is trusted (${code}); give the certificate of that authority as ` +
        'kafka.ssl.truststore.location or kafka.ssl.truststore.certificates',
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return fault(
      `its certificate is for another name (${messageOf(error).slice(0, 300)}); connect by a name that the certificate has, ` +
        'mend advertised.listeners, or turn the check off by an empty kafka.ssl.endpoint.identification.algorithm',
    );
  }
  // The broker's own trouble, which may pass.
  if (/ALERT_(INTERNAL_ERROR|USER_CANCELLED|CLOSE_NOTIFY)/.test(code)) return null;
  if (/ALERT/.test(code)) return alertFault(code, broker, ownCertificate, error);
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST/.test(code)) {
    return new SluiceError(
      'KAFKA_TLS',
      `broker ${broker}: what answers there does not speak TLS; is kafka.security.protocol that of this listener?`,
      { context: { broker, tls: NOT_TLS }, cause: error },
    );
  }
  if (
    code.startsWith('CERT_') ||
    code.startsWith('ERR_SSL_') ||
    code.startsWith('ERR_TLS_') ||
    /_CERT_|_CRL_/.test(code)
  )
    return fault(`no TLS connection could be agreed (${code}: ${messageOf(error).slice(0, 200)})`);
  return null;
}

/** The broker ended the handshake by an alert (RFC 8446, 6.2): what it says of our certificate is in its name only. */
function alertFault(code: string, broker: string, ownCertificate: boolean, cause: Error): SluiceError {
  const alert = code
    .replace(/^ERR_SSL_.*?ALERT_/, '')
    .toLowerCase()
    .replaceAll('_', ' ');
  const context = { broker, tls: code };
  // Java sends "handshake failure" too where a certificate is missing, if it does not speak TLS 1.3.
  const ofCertificate = /certificate|unknown ca|access denied|decrypt error/.test(alert);
  if (ownCertificate && ofCertificate) {
    return new SluiceError(
      'KAFKA_AUTH',
      `broker ${broker} refused the certificate of this client (${alert}); is it valid still, and signed by an authority that ` +
        'the broker trusts (ssl.truststore of the broker)? See kafka.ssl.keystore.*',
      { context, cause },
    );
  }
  if (!ownCertificate && (ofCertificate || alert.includes('handshake failure'))) {
    return new SluiceError(
      'KAFKA_AUTH',
      `broker ${broker} ended the TLS handshake (${alert}): it wants a certificate of the client, and none is given; ` +
        'set kafka.ssl.keystore.location, or kafka.ssl.keystore.certificate.chain and kafka.ssl.keystore.key',
      { context, cause },
    );
  }
  return new SluiceError(
    'KAFKA_TLS',
    `broker ${broker} ended the TLS handshake (${alert}); the versions and ciphers that it allows must meet ours ` +
      '(kafka.ssl.enabled.protocols)',
    { context, cause },
  );
}
