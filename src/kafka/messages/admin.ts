import type { Api } from './api.ts';

/** The result of one topic of an administrative request. */
export interface TopicResult {
  readonly topic: string | null;
  readonly errorCode: number;
  readonly errorMessage: string | null;
}

export interface CreateTopicsRequest {
  readonly topics: readonly {
    topic: string;
    partitions: number;
    replicationFactor: number;
    config: readonly (readonly [string, string])[];
  }[];
  readonly timeoutMs: number;
}

/** CreateTopics (19). -1 partitions or replicas (the broker's default) since version 4. */
export const createTopics: Api<CreateTopicsRequest, TopicResult[]> = {
  name: 'CreateTopics',
  key: 19,
  min: 4,
  max: 7,
  flexibleFrom: 5,
  write(w, request) {
    w.array(request.topics, (t) => {
      w.string(t.topic).int32(t.partitions).int16(t.replicationFactor);
      w.arrayLength(0); // assignments
      w.array(t.config, ([name, value]) => w.string(name).string(value).tags());
      w.tags();
    });
    w.int32(request.timeoutMs).boolean(false).tags();
  },
  read(r, version) {
    r.int32(); // throttle time
    const results = r.array(() => {
      const topic = r.string();
      if (version >= 7) r.uuid();
      const errorCode = r.int16();
      const errorMessage = r.nullableString();
      if (version >= 5) {
        r.int32(); // partitions
        r.int16(); // replication factor
        r.array(() => {
          r.string();
          r.nullableString();
          r.boolean();
          r.int8();
          r.boolean();
          r.tags();
        });
      }
      r.tags();
      return { topic, errorCode, errorMessage };
    });
    r.tags();
    return results;
  },
};

/** DeleteTopics (20), by name. */
export const deleteTopics: Api<{ topics: readonly string[]; timeoutMs: number }, TopicResult[]> = {
  name: 'DeleteTopics',
  key: 20,
  min: 1,
  max: 6,
  flexibleFrom: 4,
  write(w, request, version) {
    w.array(request.topics, (topic) => {
      w.string(topic);
      if (version >= 6) w.uuid(null).tags();
    });
    w.int32(request.timeoutMs).tags();
  },
  read(r, version) {
    r.int32(); // throttle time
    const results = r.array(() => {
      const topic = r.nullableString();
      if (version >= 6) r.uuid();
      const errorCode = r.int16();
      const errorMessage = version >= 5 ? r.nullableString() : null;
      r.tags();
      return { topic, errorCode, errorMessage };
    });
    r.tags();
    return results;
  },
};

/** CreatePartitions (37): `total` is the new number of partitions, not the number of new ones. */
export const createPartitions: Api<{ topic: string; total: number; timeoutMs: number }, TopicResult[]> = {
  name: 'CreatePartitions',
  key: 37,
  min: 0,
  max: 3,
  flexibleFrom: 2,
  write(w, request) {
    w.arrayLength(1);
    w.string(request.topic).int32(request.total).arrayLength(null).tags();
    w.int32(request.timeoutMs).boolean(false).tags();
  },
  read(r) {
    r.int32(); // throttle time
    const results = r.array(() => {
      const result = { topic: r.string(), errorCode: r.int16(), errorMessage: r.nullableString() };
      r.tags();
      return result;
    });
    r.tags();
    return results;
  },
};

/** DeleteRecords (21): everything before `before` in one partition. Sent to its leader. */
export const deleteRecords: Api<
  { topic: string; partition: number; before: bigint; timeoutMs: number },
  { errorCode: number; lowWatermark: bigint }
> = {
  name: 'DeleteRecords',
  key: 21,
  min: 0,
  max: 2,
  flexibleFrom: 2,
  write(w, request) {
    w.arrayLength(1).string(request.topic);
    w.arrayLength(1).int32(request.partition).int64(request.before).tags();
    w.tags();
    w.int32(request.timeoutMs).tags();
  },
  read(r) {
    r.int32(); // throttle time
    const results = r.array(() => {
      r.string();
      const partitions = r.array(() => {
        r.int32();
        const result = { lowWatermark: r.int64(), errorCode: r.int16() };
        r.tags();
        return result;
      });
      r.tags();
      return partitions;
    });
    r.tags();
    return results[0]?.[0] ?? r.fail('no result for the partition asked for');
  },
};

const TOPIC_RESOURCE = 2;

/** DescribeConfigs (32) of one topic. */
export const describeTopicConfig: Api<
  { topic: string },
  { errorCode: number; errorMessage: string | null; config: readonly (readonly [string, string | null])[] }
> = {
  name: 'DescribeConfigs',
  key: 32,
  min: 1,
  max: 4,
  flexibleFrom: 4,
  write(w, request, version) {
    w.arrayLength(1).int8(TOPIC_RESOURCE).string(request.topic).arrayLength(null).tags();
    w.boolean(false);
    if (version >= 3) w.boolean(false);
    w.tags();
  },
  read(r, version) {
    r.int32(); // throttle time
    const results = r.array(() => {
      const errorCode = r.int16();
      const errorMessage = r.nullableString();
      r.int8();
      r.string();
      const config = r.array((): readonly [string, string | null] => {
        const name = r.string();
        const value = r.nullableString();
        r.boolean(); // read-only
        r.int8(); // source
        r.boolean(); // sensitive
        r.array(() => {
          r.string();
          r.nullableString();
          r.int8();
          r.tags();
        });
        if (version >= 3) {
          r.int8(); // type
          r.nullableString(); // documentation
        }
        r.tags();
        return [name, value];
      });
      r.tags();
      return { errorCode, errorMessage, config };
    });
    r.tags();
    return results[0] ?? r.fail('no result for the topic asked for');
  },
};
