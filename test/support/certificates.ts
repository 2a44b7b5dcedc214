/** Certificates of tests, made by `openssl` when they are needed: none lies in the repository, none expires there. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Identity {
  /** PEM of certificate and key. */
  certificate: string;
  key: string;
  /** One file with both, as Kafka's PEM keystores are. */
  store: string;
}

export interface Authority {
  /** PEM file of its certificate. */
  file: string;
  certificate: string;
  issue(name: string, options?: { altNames?: string; expired?: boolean }): Promise<Identity>;
}

export async function hasOpenssl(): Promise<boolean> {
  return run('openssl', ['version']).then(
    () => true,
    () => false,
  );
}

/** An authority of its own in a directory of the test. */
export async function createAuthority(directory: string, name: string): Promise<Authority> {
  const path = (file: string): string => join(directory, `${name}-${file}`);
  const openssl = (...args: string[]): Promise<unknown> => run('openssl', args, { cwd: directory });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.pem'),
    '-subj',
    `/CN=${name}`,
    '-days',
    '2',
  );
  await writeFile(path('index'), '');
  await writeFile(path('serial'), '01\n');
  const certificate = await readFile(path('ca.pem'), 'utf8');
  return {
    file: path('ca.pem'),
    certificate,
    async issue(subject, { altNames = 'IP:127.0.0.1,DNS:localhost', expired = false } = {}) {
      const base = path(subject.replace(/\W/g, '-'));
      await openssl(
        'req',
        ...newKey,
        '-keyout',
        `${base}.key`,
        '-out',
        `${base}.csr`,
        '-subj',
        `/CN=${subject}`,
      );
      const config = [
        '[ca]',
        'default_ca = a',
        '[a]',
        `database = ${path('index')}`,
        `serial = ${path('serial')}`,
        `new_certs_dir = ${directory}`,
        `certificate = ${path('ca.pem')}`,
        `private_key = ${path('ca.key')}`,
        'default_md = sha256',
        'policy = p',
        'x509_extensions = x',
        'unique_subject = no',
        '[p]',
        'commonName = supplied',
        '[x]',
        `subjectAltName = ${altNames}`,
      ];
      await writeFile(`${base}.cnf`, config.join('\n'));
      const times = expired
        ? ['-startdate', '20200101000000Z', '-enddate', '20210101000000Z']
        : ['-days', '1'];
      await openssl(
        'ca',
        '-batch',
        '-notext',
        '-config',
        `${base}.cnf`,
        '-in',
        `${base}.csr`,
        '-out',
        `${base}.pem`,
        ...times,
      );
      const [own, key] = await Promise.all([
        readFile(`${base}.pem`, 'utf8'),
        readFile(`${base}.key`, 'utf8'),
      ]);
      await writeFile(`${base}-store.pem`, key + own);
      return { certificate: own, key, store: `${base}-store.pem` };
    },
  };
}

/** Runs `openssl` for what only it makes: encrypted keys, PKCS12 stores. */
export async function openssl(...args: string[]): Promise<void> {
  await run('openssl', args);
}
