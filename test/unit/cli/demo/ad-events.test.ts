import { describe, expect, it } from 'vitest';
import { AD_TOPICS, type AdEvent, generateAdEvents } from '../../../../src/cli/demo/ad-events.ts';

const plain = (event: AdEvent) => ({ ...event, key: event.key.toString(), value: event.value.toString() });
const events = (count: number, seed = 1, firstSequence = 0) =>
  [...generateAdEvents({ count, seed, firstSequence })].map(plain);

describe('generateAdEvents', () => {
  const made = events(20_000).map((event) => ({
    ...event,
    json: JSON.parse(event.value) as Record<string, unknown>,
  }));

  it('makes 28 fields for dummy and 24 for criteo, always the same ones', () => {
    const shapes = new Map<unknown, Set<string>>();
    for (const { json } of made) {
      const shape = shapes.get(json['source']) ?? new Set();
      shapes.set(json['source'], shape.add(Object.keys(json).join(',')));
    }
    expect([...shapes.keys()].sort()).toEqual(['criteo', 'dummy']);
    const [dummy, ...otherDummies] = shapes.get('dummy')!;
    const [criteo, ...otherCriteos] = shapes.get('criteo')!;
    expect([otherDummies, otherCriteos]).toEqual([[], []]);
    expect(dummy.split(',')).toHaveLength(28);
    expect(criteo.split(',')).toHaveLength(24);
    expect(dummy.split(',')).toEqual(
      expect.arrayContaining(['campaign_id', 'banner_id', 'bid_price', 'event_id', 'event_type']),
    );
    expect(criteo.split(',')).toEqual(
      expect.arrayContaining([
        'campaign',
        'cost',
        ...Array.from({ length: 9 }, (_, n) => `cat${n + 1}`),
        'click',
        'conversion',
      ]),
    );
  });

  it('routes by event type and keys by campaign', () => {
    for (const { topic, key, json } of made) {
      expect(topic).toBe(`ad-${json['event_type']}s`);
      expect(key).toBe(String(json['source'] === 'dummy' ? json['campaign_id'] : json['campaign']));
    }
    expect(new Set(made.map(({ topic }) => topic))).toEqual(new Set(AD_TOPICS));
    expect(new Set(made.map(({ key }) => key)).size).toBeGreaterThan(300);
  });

  it('writes JSON as JSON.stringify would, but for the zeros that end prices', () => {
    for (const { value, json } of made.slice(0, 500)) {
      expect(JSON.stringify(json)).toBe(
        value.replace(/(:\d+\.\d*?)0+(?=[,}])/g, '$1').replace(/(:\d+)\.(?=[,}])/g, '$1'),
      );
    }
  });

  it('gives every event an id of its own, a UUID of version 4', () => {
    const ids = new Set(made.map(({ json }) => json['event_id']));
    expect(ids.size).toBe(made.length);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('puts the event time into the record', () => {
    for (const { timestampMs, json } of made) {
      if (json['source'] === 'dummy') expect(json['event_time']).toBe(new Date(timestampMs).toISOString());
      else expect(json['timestamp']).toBe(Math.floor(timestampMs / 1000));
    }
    const times = made.map(({ timestampMs }) => timestampMs);
    expect(Math.min(...times)).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1));
    expect(Math.max(...times)).toBeLessThan(Date.UTC(2026, 0, 1) + 20_000 * 36 + 5_000);
    expect(times.some((time, n) => n > 0 && time < times[n - 1])).toBe(true);
  });

  it('is a function of seed and sequence number alone', () => {
    const all = events(300, 9);
    expect(events(300, 9)).toEqual(all);
    expect(events(200, 9, 100)).toEqual(all.slice(100));
    expect(events(300, 10).map(({ value }) => value)).not.toEqual(all.map(({ value }) => value));
    const [moved] = [...generateAdEvents({ count: 1, seed: 9, startMs: 0, topicPrefix: 'sluice-demo.' })].map(
      plain,
    );
    expect(moved.topic).toBe(`sluice-demo.${all[0].topic}`);
    expect(moved.timestampMs).toBe(all[0].timestampMs - Date.UTC(2026, 0, 1));
  });
});
