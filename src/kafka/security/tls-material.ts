import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../../errors.ts';
import { isCertificate, isPrivateKey, pemBlocks } from './pem.ts';
import { invalid, type TlsSettings } from './settings.ts';

const MAX_STORE_BYTES = 4 * 1024 * 1024;

/** What the options of a secure context are made from: everything but the versions. */
type Material = Pick<SecureContextOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase'>;

/**
 * Trusted authorities, own certificate and key, read anew for each connection and parsed only where they have changed.
 * Throws CONFIG_INVALID that names the option, never what it holds.
 */
export class TlsMaterial {
  readonly settings: TlsSettings;
  private context: SecureContext | null = null;
  private fingerprint = '';

  constructor(settings: TlsSettings) {
    this.settings = settings;
  }

  /** True where the client shows a certificate of its own. */
  get hasOwnCertificate(): boolean {
    return this.settings.keystoreLocation !== null || this.settings.certificateChain !== null;
  }

  async secureContext(): Promise<SecureContext> {
    const { minVersion, maxVersion } = this.settings;
    const trust = await readTruststore(this.settings);
    const own = await readKeystore(this.settings);
    const fingerprint = [trust, own.pfx, own.cert, own.key].map((part) => part?.toString() ?? '').join('\n');
    if (this.context !== null && fingerprint === this.fingerprint) return this.context;
    checkCertificates(trust);
    if (own.pfx === undefined) checkOwn(own, this.settings);
    try {
      this.context = createSecureContext({ ...own, ca: trust, minVersion, maxVersion });
    } catch (e) {
      throw storeError(e, this.settings);
    }
    this.fingerprint = fingerprint;
    return this.context;
  }
}

/** Undefined where no truststore is given: then the authorities that Node brings are trusted. */
export async function readTruststore(
  settings: Pick<TlsSettings, 'truststoreLocation' | 'truststoreCertificates'> & {
    truststoreType?: string | null;
  },
  prefix = 'ssl.truststore',
): Promise<string[] | undefined> {
  const { truststoreLocation: location, truststoreCertificates: inline, truststoreType: type } = settings;
  if (location === null && inline === null) return undefined;
  const key = location === null ? `${prefix}.certificates` : `${prefix}.location`;
  const bytes = location === null ? Buffer.from(inline!) : await readStore(key, location);
  refuseOtherStore(key, bytes, type ?? null, location);
  const certificates = pemBlocks(bytes.toString('latin1')).filter(isCertificate);
  if (certificates.length === 0) throw invalid(key, 'it holds no certificate (-----BEGIN CERTIFICATE-----)');
  return certificates.map((block) => block.text);
}

/** The errors name the place in the list: OpenSSL passes over a damaged certificate or tells too little. */
function checkCertificates(certificates: readonly string[] | undefined): void {
  for (const [i, text] of (certificates ?? []).entries()) {
    try {
      new X509Certificate(text);
    } catch (e) {
      throw invalid('ssl.truststore', `certificate ${i + 1} cannot be read (${messageOf(e)})`, e);
    }
  }
}

async function readKeystore(settings: TlsSettings): Promise<Material> {
  const { keystoreLocation: location, certificateChain: chain, key, keystoreType, keyPassword } = settings;
  if (location !== null) {
    if (chain !== null || key !== null) {
      throw invalid(
        'ssl.keystore.location',
        'certificate and key are given as text too; one of them is enough',
      );
    }
    return readKeystoreFile(location, settings);
  }
  if (chain === null && key === null) return {};
  if (chain === null || key === null) {
    const missing = chain === null ? 'certificate.chain' : 'key';
    throw invalid(`ssl.keystore.${missing}`, 'a certificate and its key go together');
  }
  if (keystoreType !== null && keystoreType.toUpperCase() !== 'PEM') {
    throw invalid('ssl.keystore.type', 'a certificate and a key given as text are PEM');
  }
  return ownFromPem('ssl.keystore.certificate.chain', chain, 'ssl.keystore.key', key, keyPassword);
}

async function readKeystoreFile(location: string, settings: TlsSettings): Promise<Material> {
  const { keystoreType: type, keystorePassword, keyPassword } = settings;
  const option = 'ssl.keystore.location';
  const bytes = await readStore(option, location);
  // keytool writes PKCS12 under the name of JKS too.
  if (kindOf(bytes) === 'PKCS12' && type?.toUpperCase() !== 'PEM') {
    return { pfx: bytes, passphrase: keystorePassword ?? keyPassword ?? undefined };
  }
  refuseOtherStore(option, bytes, type, location);
  const text = bytes.toString('latin1');
  return ownFromPem(option, text, option, text, keyPassword);
}

function ownFromPem(
  chainOption: string,
  chainText: string,
  keyOption: string,
  keyText: string,
  password: string | null,
): Material {
  const chain = pemBlocks(chainText).filter(isCertificate);
  if (chain.length === 0) throw invalid(chainOption, 'it holds no certificate (-----BEGIN CERTIFICATE-----)');
  const keys = pemBlocks(keyText).filter(isPrivateKey);
  if (keys.length !== 1) {
    const found = keys.length === 0 ? 'no private key' : `${keys.length} private keys`;
    throw invalid(keyOption, `it holds ${found}, one is expected (-----BEGIN PRIVATE KEY-----)`);
  }
  const cert = chain.map((block) => block.text).join('');
  return { cert, key: keys[0].text, passphrase: password ?? undefined };
}

/** Does the key open, and does it belong to the first certificate of the chain? */
function checkOwn(own: Material, settings: TlsSettings): void {
  if (own.cert === undefined) return;
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: own.key as string, passphrase: own.passphrase });
  } catch (e) {
    // A wrong password opens about one key in 256 into nonsense, which no decoder knows.
    const isNonsense = own.passphrase !== undefined && /decoder|asn1|unsupported/i.test(messageOf(e));
    throw isNonsense ? invalid('ssl.key.password', 'it does not open the key', e) : storeError(e, settings);
  }
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(own.cert as string);
  } catch (e) {
    throw invalid('ssl.keystore', `the certificate cannot be read (${messageOf(e)})`, e);
  }
  if (!certificate.checkPrivateKey(key)) {
    throw invalid('ssl.keystore', 'the key does not belong to the first certificate of the chain');
  }
}

function storeError(e: unknown, settings: TlsSettings): Error {
  const text = `${(e as { code?: string }).code ?? ''} ${messageOf(e)}`;
  const pkcs12 = settings.keystoreLocation !== null && settings.keystoreType?.toUpperCase() !== 'PEM';
  const option = settings.keyPassword !== null || !pkcs12 ? 'ssl.key.password' : 'ssl.keystore.password';
  if (/passphrase|interrupted or cancelled/i.test(text))
    return invalid(option, 'the key is encrypted, its password is needed', e);
  if (/bad.?decrypt|mac verify|bad.?password/i.test(text))
    return invalid(option, 'it does not open the key', e);
  return invalid('ssl.keystore', `certificate and key cannot be used (${messageOf(e)})`, e);
}

async function readStore(option: string, path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size > MAX_STORE_BYTES)
      throw invalid(option, `${path} has ${size} bytes, at most ${MAX_STORE_BYTES} are read`);
    return await readFile(path);
  } catch (e) {
    const code = (e as NodeJS.ErrnoException).code;
    if (code === 'CONFIG_INVALID') throw e;
    throw invalid(
      option,
      `the file ${path} cannot be read (${code === 'ENOENT' ? 'there is none' : code})`,
      e,
    );
  }
}

function kindOf(bytes: Buffer): 'PEM' | 'JKS' | 'PKCS12' | null {
  if (bytes.includes('-----BEGIN ')) return 'PEM';
  const magic = bytes.length >= 4 ? bytes.readUInt32BE(0) : 0;
  if (magic === 0xfeedfeed || magic === 0xcececece) return 'JKS';
  return bytes[0] === 0x30 ? 'PKCS12' : null;
}

/** Anything but PEM is refused with the command that makes PEM of it. */
function refuseOtherStore(option: string, bytes: Buffer, type: string | null, location: string | null): void {
  const kind = kindOf(bytes);
  const declared = type?.toUpperCase() ?? 'PEM';
  if (kind === 'PEM' && declared === 'PEM') return;
  if (kind === 'PEM')
    throw invalid(
      `${option.slice(0, option.lastIndexOf('.'))}.type`,
      `it says ${type}, but the store is PEM`,
    );
  if (kind === null) throw invalid(option, 'it is neither PEM nor another store that is known');
  const isKeystore = option.startsWith('ssl.keystore');
  const file = location ?? 'STORE';
  const openssl = (p12: string): string =>
    `openssl pkcs12 -in ${p12} ${isKeystore ? '-nodes' : '-nokeys'} -out store.pem`;
  const how =
    kind === 'PKCS12'
      ? `\`${openssl(file)}\``
      : `\`keytool -importkeystore -srckeystore ${file} -destkeystore store.p12 -deststoretype PKCS12\` and then \`${openssl('store.p12')}\``;
  throw invalid(
    option,
    `${file} is a ${kind} store, which Sluice does not read here; make PEM of it: ${how}`,
  );
}
