import { describe, expect, it } from 'vitest';
import { Checkpoint, type CheckpointOptions } from '../../../src/checkpoint/checkpoint.ts';
import { LEASE_STALE_MS } from '../../../src/checkpoint/lease.ts';
import { MemoryFileIO } from '../../../src/storage/memory-file-io.ts';
import { LOCATION, makeProcess } from '../../support/checkpoint.ts';

class Clock {
  now = 1_700_000_000_000;
}

async function open(io: MemoryFileIO, clock: Clock, overrides: Partial<CheckpointOptions> = {}) {
  const process = makeProcess(io, { now: () => clock.now, ...overrides });
  return { ...process, checkpoint: await Checkpoint.open(process.options) };
}

describe('the lease', () => {
  it("tells a second process who is there, and stays the first one's", async () => {
    const [io, clock] = [new MemoryFileIO(), new Clock()];
    const a = await open(io, clock);
    const b = await open(io, clock);
    expect(await a.checkpoint.acquireLease()).toEqual({ acquired: true, previous: undefined, stale: false });
    expect(await a.checkpoint.acquireLease()).toEqual({ acquired: true, previous: undefined, stale: false });
    clock.now += 5_000;
    const found = await b.checkpoint.acquireLease();
    expect(found).toMatchObject({
      acquired: false,
      stale: false,
      previous: { ...a.options.owner, pipelineName: 'clicks' },
    });
    expect(await b.checkpoint.currentLease()).toMatchObject(a.options.owner);
    await b.checkpoint.releaseLease();
    expect(await b.checkpoint.currentLease()).toMatchObject(a.options.owner);
    await a.checkpoint.releaseLease();
    expect(await b.checkpoint.acquireLease()).toMatchObject({ acquired: true });
  });

  it('lives by its heartbeat', async () => {
    const [io, clock] = [new MemoryFileIO(), new Clock()];
    const a = await open(io, clock);
    const b = await open(io, clock);
    await a.checkpoint.acquireLease();
    for (let i = 0; i < 5; i++) {
      clock.now += LEASE_STALE_MS - 1;
      expect(await a.checkpoint.heartbeat()).toBeUndefined();
    }
    clock.now += LEASE_STALE_MS;
    expect((await b.checkpoint.acquireLease()).acquired).toBe(false);
    clock.now += 1;
    expect(await b.checkpoint.acquireLease()).toMatchObject({
      acquired: true,
      stale: true,
      previous: a.options.owner,
    });
    // The first one learns of it and does not take the lease back.
    expect(await a.checkpoint.heartbeat()).toMatchObject(b.options.owner);
    expect(await a.checkpoint.currentLease()).toMatchObject(b.options.owner);
  });

  it('of a process that was killed on this host is free at once', async () => {
    const [io, clock] = [new MemoryFileIO(), new Clock()];
    const host = 'here';
    const a = await open(io, clock, { owner: { host, pid: 11, writerId: 'a' } });
    await a.checkpoint.acquireLease();
    const alive = await open(io, clock, {
      owner: { host, pid: 12, writerId: 'b' },
      isProcessAlive: (pid) => pid === 11,
    });
    expect(await alive.checkpoint.acquireLease()).toMatchObject({ acquired: false });
    const elsewhere = await open(io, clock, {
      owner: { host: 'there', pid: 12, writerId: 'b' },
      isProcessAlive: () => false,
    });
    expect(await elsewhere.checkpoint.acquireLease()).toMatchObject({ acquired: false });
    const after = await open(io, clock, {
      owner: { host, pid: 12, writerId: 'b' },
      isProcessAlive: () => false,
    });
    expect(await after.checkpoint.acquireLease()).toMatchObject({ acquired: true, stale: true });
    const samePid = await open(io, clock, { owner: { host, pid: 12, writerId: 'c' } });
    expect(await samePid.checkpoint.acquireLease()).toMatchObject({ acquired: true, stale: true });
  });

  it('is no obstacle when it cannot be read', async () => {
    const [io, clock] = [new MemoryFileIO(), new Clock()];
    const a = await open(io, clock);
    for (const content of ['', '{"format":9}', 'torn{']) {
      await io.replace(`${LOCATION}/_sluice/lease`, new TextEncoder().encode(content));
      expect(await a.checkpoint.acquireLease()).toMatchObject({ acquired: true, stale: false });
    }
    expect(a.warnings).toHaveLength(3);
    expect(a.warnings[0]).toContain(`${LOCATION}/_sluice/lease`);
  });
});
