import type { Api } from './api.ts';

export interface MetadataResponse {
  readonly brokers: readonly { id: number; host: string; port: number; rack: string | null }[];
  readonly clusterId: string | null;
  readonly controllerId: number;
  readonly topics: readonly {
    errorCode: number;
    topic: string | null;
    /** base64url; null before version 10. */
    topicId: string | null;
    internal: boolean;
    partitions: readonly {
      errorCode: number;
      partition: number;
      leader: number;
      leaderEpoch: number;
      replicas: readonly number[];
      /** Those that are down; empty before version 5. */
      offline: readonly number[];
    }[];
  }[];
  readonly errorCode: number;
}

/** Metadata (3). `topics` null asks for all of them. Topics are never created by asking. */
export const metadata: Api<{ topics: readonly string[] | null }, MetadataResponse> = {
  name: 'Metadata',
  key: 3,
  min: 4,
  max: 13,
  flexibleFrom: 9,
  write(w, request, version) {
    w.array(request.topics, (topic) => {
      if (version >= 10) w.uuid(null);
      w.string(topic).tags();
    });
    w.boolean(false); // AllowAutoTopicCreation
    if (version >= 8 && version <= 10) w.boolean(false); // IncludeClusterAuthorizedOperations
    if (version >= 8) w.boolean(false); // IncludeTopicAuthorizedOperations
    w.tags();
  },
  read(r, version) {
    r.int32(); // throttle time
    const brokers = r.array(() => {
      const broker = { id: r.int32(), host: r.string(), port: r.int32(), rack: r.nullableString() };
      r.tags();
      return broker;
    });
    const clusterId = r.nullableString();
    const controllerId = r.int32();
    const topics = r.array(() => {
      const errorCode = r.int16();
      const topic = r.nullableString();
      const topicId = version >= 10 ? r.uuid() : null;
      const internal = r.boolean();
      const partitions = r.array(() => {
        const partition = {
          errorCode: r.int16(),
          partition: r.int32(),
          leader: r.int32(),
          leaderEpoch: version >= 7 ? r.int32() : -1,
          replicas: r.array(() => r.int32()),
        };
        r.array(() => r.int32()); // in-sync replicas
        const offline = version >= 5 ? r.array(() => r.int32()) : [];
        r.tags();
        return { ...partition, offline };
      });
      if (version >= 8) r.int32(); // authorized operations of the topic
      r.tags();
      return { errorCode, topic, topicId, internal, partitions };
    });
    if (version >= 8 && version <= 10) r.int32(); // authorized operations of the cluster
    const errorCode = version >= 13 ? r.int16() : 0;
    r.tags();
    return { brokers, clusterId, controllerId, topics, errorCode };
  },
};
