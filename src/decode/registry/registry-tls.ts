import { readFile, stat } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../../errors.ts';
import { invalid, type RegistrySettings } from './registry-options.ts';

const MAX_PEM_BYTES = 4 * 1024 * 1024;
/** Files of certificates are looked at again after this long: they are renewed while a run goes on. */
const LOOK_AGAIN_MS = 10_000;

const POOL = { keepAlive: true, maxSockets: 8, maxFreeSockets: 2, timeout: 60_000 };

/** The connections to a registry: kept for a while between look-ups, made anew with the certificates that lie in the files. */
export class RegistryConnections {
  private readonly settings: RegistrySettings;
  private readonly now: () => number;
  private readonly http = new HttpAgent(POOL);
  private https: HttpsAgent | null = null;
  private fingerprint = '';
  private lookedAtMs = 0;

  constructor(settings: RegistrySettings, now: () => number) {
    this.settings = settings;
    this.now = now;
  }

  /** The agent for a protocol. Throws CONFIG_INVALID where a PEM file cannot be used. */
  async agent(protocol: string): Promise<HttpAgent | HttpsAgent> {
    if (protocol === 'http:') return this.http;
    if (this.https !== null && this.now() - this.lookedAtMs < LOOK_AGAIN_MS) return this.https;
    this.lookedAtMs = this.now();
    try {
      return await this.renew();
    } catch (e) {
      // Files that are just being replaced: what was read before holds until they can be read again.
      if (this.https !== null) return this.https;
      throw e;
    }
  }

  private async renew(): Promise<HttpsAgent> {
    const { truststore, keystore, keyPassword, checksHostName } = this.settings;
    const ca =
      truststore === null
        ? null
        : await readPem('schema.registry.ssl.truststore.location', truststore, 'CERTIFICATE');
    const own =
      keystore === null
        ? null
        : await readPem('schema.registry.ssl.keystore.location', keystore, 'PRIVATE KEY');
    const fingerprint = `${ca ?? ''}\n${own ?? ''}`;
    if (this.https !== null && fingerprint === this.fingerprint) return this.https;
    const material = {
      ca: ca ?? undefined,
      cert: own ?? undefined,
      key: own ?? undefined,
      passphrase: keyPassword ?? undefined,
    };
    checkMaterial(material, keystore !== null);
    // The agent before is let go, not destroyed: a request may be on its way over it.
    this.fingerprint = fingerprint;
    this.https = new HttpsAgent({
      ...POOL,
      ...material,
      ...(checksHostName ? {} : { checkServerIdentity: () => undefined }),
    });
    return this.https;
  }

  close(): void {
    this.http.destroy();
    this.https?.destroy();
    this.https = null;
  }
}

/** Node speaks of a bad file only at the first connection, and then without its name. */
function checkMaterial(material: Parameters<typeof createSecureContext>[0], hasKeystore: boolean): void {
  try {
    createSecureContext(material);
  } catch (e) {
    const text = `${(e as { code?: string }).code ?? ''} ${messageOf(e)}`;
    // A wrong password opens about one key in 256 into nonsense: then it is the decoder that does not know what it got.
    const isNonsense = material?.passphrase !== undefined && /decoder|asn1|unsupported/i.test(text);
    if (isNonsense || /bad.?decrypt|bad.?password|passphrase|interrupted or cancelled/i.test(text))
      throw invalid('schema.registry.ssl.key.password', 'it does not open the key of the keystore', e);
    const option = hasKeystore
      ? 'schema.registry.ssl.keystore.location'
      : 'schema.registry.ssl.truststore.location';
    throw invalid(option, `its certificates or its key cannot be used (${messageOf(e)})`, e);
  }
}

async function readPem(option: string, path: string, block: string): Promise<string> {
  let text: string;
  try {
    const { size } = await stat(path);
    if (size > MAX_PEM_BYTES) throw new Error(`it has ${size} bytes, at most ${MAX_PEM_BYTES} are read`);
    text = await readFile(path, 'latin1');
  } catch (e) {
    const code = (e as NodeJS.ErrnoException).code;
    throw invalid(
      option,
      `the file ${path} cannot be read (${code === 'ENOENT' ? 'there is none' : (code ?? messageOf(e))})`,
      e,
    );
  }
  if (new RegExp(`-----BEGIN [A-Z ]*${block}-----`).test(text)) return text;
  const hint = text.includes('-----BEGIN ')
    ? ''
    : '; make PEM of it: openssl pkcs12 -in STORE -nodes -out store.pem';
  throw invalid(option, `the file ${path} holds no -----BEGIN ${block}-----${hint}`);
}
