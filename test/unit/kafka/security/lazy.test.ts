import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

/** What Node has loaded of its own once the client is there. */
async function loadedBy(module: string): Promise<string[]> {
  const url = new URL(`../../../../src/kafka/${module}`, import.meta.url).href;
  const script = `await import(${JSON.stringify(url)}); console.log(JSON.stringify(process.moduleLoadList))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return JSON.parse(stdout) as string[];
}

it('a plain client loads neither TLS nor HTTP', async () => {
  const loaded = await loadedBy('cluster.ts');
  expect(loaded).toContain('NativeModule net');
  expect(loaded.filter((name) => /^NativeModule (tls|https?|_http_client)$/.test(name))).toEqual([]);
  expect(await loadedBy('security/broker-security.ts')).toContain('NativeModule tls');
});
