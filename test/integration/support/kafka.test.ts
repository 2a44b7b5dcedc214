import { describe, expect, it } from 'vitest';
import { probe } from '../../../scripts/lib/net.mjs';
import { startBroker, useKafka } from '../../support/kafka.ts';

describe('the broker of the tests', () => {
  it('answers at the shared address', async () => {
    const { bootstrap, uniqueTopic } = useKafka();
    const [host, port] = bootstrap.split(':');
    const { brokers } = await probe(host, Number(port));
    expect(brokers.length).toBeGreaterThan(0);
    expect(uniqueTopic('a')).toMatch(/^sluice-test-a-[0-9a-f]{8}$/);
    expect(uniqueTopic('a')).not.toBe(uniqueTopic('a'));
  });

  it('keeps cluster and port over a restart and a kill, and tells clients the advertised port', async () => {
    const broker = await startBroker({ advertisedPort: 9 });
    try {
      const { port, pid } = broker;
      const before = await probe(broker.host, port);
      expect(before).toEqual({
        clusterId: broker.clusterId,
        brokers: [{ nodeId: 1, host: '127.0.0.1', port: 9 }],
      });
      await broker.restart();
      expect(await probe(broker.host, port)).toEqual(before);
      await broker.kill();
      expect(broker.running).toBe(false);
      await expect(probe(broker.host, port)).rejects.toThrow();
      await broker.start();
      expect(await probe(broker.host, port)).toEqual(before);
      expect(broker.pid).not.toBe(pid);
    } finally {
      await broker.stop();
    }
  });
});
