import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { kafkaRuntime } from '../../../scripts/lib/kafka.mjs';
import { freePort, isFree, probe } from '../../../scripts/lib/net.mjs';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-runtime-'));
  mkdirSync(join(root, 'bin'));
  vi.stubEnv('PATH', join(root, 'bin'));
  vi.stubEnv('JAVA_HOME', undefined);
  vi.stubEnv('SLUICE_CACHE_DIR', join(root, 'cache'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

/** Puts a shell script into PATH. */
function program(name: string, body: string): void {
  const path = join(root, 'bin', name);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
}
const java = (version: string) => program('java', `echo 'openjdk version "${version}" 2025-01-01' >&2`);
const runtime = () => kafkaRuntime({ log: () => {} });

describe('kafkaRuntime', () => {
  it('says what is missing and names the other ways', async () => {
    await expect(runtime()).rejects.toThrow(
      /Java 17 or newer.*not installed.*Docker engine.*KAFKA_BOOTSTRAP_SERVERS/s,
    );
    java('11.0.2');
    await expect(runtime()).rejects.toThrow(/Java 17 or newer/);
    java('17.0.15');
    await expect(runtime()).rejects.toMatchObject({
      message: expect.stringMatching(/Maven \(`mvn`\) is not installed/),
      exitCode: 69,
    });
  });

  it('takes the container image where a Docker engine answers, not where there is only its client', async () => {
    program('docker', '[ "$1" = info ] && exit 1');
    await expect(runtime()).rejects.toThrow(/Java 17/);
    program('docker', '[ "$1" = info ] && echo 28.0');
    expect(await runtime()).toEqual({ kind: 'docker', image: 'apache/kafka:4.3.1' });
  });

  it('refuses a jar that is not the pinned one, and keeps nothing of it', async () => {
    java('21');
    program(
      'mvn',
      'for a in "$@"; do case $a in -DoutputDirectory=*) echo evil > "${a#*=}/kafka-server-4.3.1.jar";; esac; done',
    );
    await expect(runtime()).rejects.toMatchObject({
      message: expect.stringMatching(
        /kafka-server-4\.3\.1\.jar has SHA-256 [0-9a-f]{64}, but .*jars\.sha256 says/,
      ),
      exitCode: 70,
    });
    expect(readdirSync(join(root, 'cache')).filter((name) => !name.endsWith('.part'))).toEqual([]);
  });

  it("shows Maven's own word when it fails", async () => {
    java('21');
    program('mvn', 'echo "[ERROR] Could not resolve host"; exit 1');
    await expect(runtime()).rejects.toThrow(/could not fetch Apache Kafka 4\.3\.1 .*Could not resolve host/);
  });
});

describe('probe', () => {
  it('rejects what is not a Kafka broker, and what says nothing', async () => {
    const server = createServer((socket) =>
      socket
        .on('error', () => {})
        .resume()
        .write('HTTP/1.1 400 Bad Request\r\n\r\n'),
    );
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    expect(await isFree(port)).toBe(false);
    await expect(probe('127.0.0.1', port)).rejects.toThrow('is not a Kafka broker');
    await new Promise((resolve) => server.close(resolve));
    const mute = createServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => mute.listen(port, '127.0.0.1', resolve));
    await expect(probe('127.0.0.1', port, 50)).rejects.toThrow('no answer');
    await new Promise((resolve) => mute.close(resolve));
    expect(await isFree(port)).toBe(true);
    await expect(probe('127.0.0.1', port)).rejects.toThrow('ECONNREFUSED');
  });
});
