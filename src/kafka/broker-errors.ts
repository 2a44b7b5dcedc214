/**
 * Error codes of the Kafka protocol (Apache Kafka's `Errors`), with what a client should do about each:
 * `leader`: ask for the metadata again, then try again; `retry`: try again; `auth`: credentials or rights;
 * `fatal`: trying again does not help.
 */
export type BrokerErrorKind = 'leader' | 'retry' | 'auth' | 'fatal';

const TABLE: Record<number, readonly [string, BrokerErrorKind]> = {
  [-1]: ['UNKNOWN_SERVER_ERROR', 'retry'],
  1: ['OFFSET_OUT_OF_RANGE', 'fatal'],
  2: ['CORRUPT_MESSAGE', 'retry'],
  3: ['UNKNOWN_TOPIC_OR_PARTITION', 'leader'],
  5: ['LEADER_NOT_AVAILABLE', 'leader'],
  6: ['NOT_LEADER_OR_FOLLOWER', 'leader'],
  7: ['REQUEST_TIMED_OUT', 'retry'],
  8: ['BROKER_NOT_AVAILABLE', 'leader'],
  9: ['REPLICA_NOT_AVAILABLE', 'leader'],
  10: ['MESSAGE_TOO_LARGE', 'fatal'],
  13: ['NETWORK_EXCEPTION', 'retry'],
  14: ['COORDINATOR_LOAD_IN_PROGRESS', 'retry'],
  15: ['COORDINATOR_NOT_AVAILABLE', 'retry'],
  16: ['NOT_COORDINATOR', 'leader'],
  17: ['INVALID_TOPIC_EXCEPTION', 'fatal'],
  18: ['RECORD_LIST_TOO_LARGE', 'fatal'],
  19: ['NOT_ENOUGH_REPLICAS', 'retry'],
  20: ['NOT_ENOUGH_REPLICAS_AFTER_APPEND', 'retry'],
  29: ['TOPIC_AUTHORIZATION_FAILED', 'auth'],
  30: ['GROUP_AUTHORIZATION_FAILED', 'auth'],
  31: ['CLUSTER_AUTHORIZATION_FAILED', 'auth'],
  33: ['UNSUPPORTED_SASL_MECHANISM', 'auth'],
  34: ['ILLEGAL_SASL_STATE', 'auth'],
  35: ['UNSUPPORTED_VERSION', 'fatal'],
  36: ['TOPIC_ALREADY_EXISTS', 'fatal'],
  37: ['INVALID_PARTITIONS', 'fatal'],
  38: ['INVALID_REPLICATION_FACTOR', 'fatal'],
  40: ['INVALID_CONFIG', 'fatal'],
  41: ['NOT_CONTROLLER', 'leader'],
  42: ['INVALID_REQUEST', 'fatal'],
  44: ['POLICY_VIOLATION', 'fatal'],
  45: ['OUT_OF_ORDER_SEQUENCE_NUMBER', 'fatal'],
  46: ['DUPLICATE_SEQUENCE_NUMBER', 'fatal'],
  47: ['INVALID_PRODUCER_EPOCH', 'fatal'],
  48: ['INVALID_TXN_STATE', 'fatal'],
  49: ['INVALID_PRODUCER_ID_MAPPING', 'fatal'],
  51: ['CONCURRENT_TRANSACTIONS', 'retry'],
  53: ['TRANSACTIONAL_ID_AUTHORIZATION_FAILED', 'auth'],
  54: ['SECURITY_DISABLED', 'fatal'],
  56: ['KAFKA_STORAGE_ERROR', 'leader'],
  58: ['SASL_AUTHENTICATION_FAILED', 'auth'],
  59: ['UNKNOWN_PRODUCER_ID', 'fatal'],
  60: ['REASSIGNMENT_IN_PROGRESS', 'retry'],
  67: ['INVALID_PRINCIPAL_TYPE', 'fatal'],
  70: ['FETCH_SESSION_ID_NOT_FOUND', 'retry'],
  71: ['INVALID_FETCH_SESSION_EPOCH', 'retry'],
  72: ['LISTENER_NOT_FOUND', 'leader'],
  73: ['TOPIC_DELETION_DISABLED', 'fatal'],
  74: ['FENCED_LEADER_EPOCH', 'leader'],
  75: ['UNKNOWN_LEADER_EPOCH', 'leader'],
  76: ['UNSUPPORTED_COMPRESSION_TYPE', 'fatal'],
  78: ['OFFSET_NOT_AVAILABLE', 'leader'],
  80: ['PREFERRED_LEADER_NOT_AVAILABLE', 'leader'],
  87: ['INVALID_RECORD', 'fatal'],
  89: ['THROTTLING_QUOTA_EXCEEDED', 'retry'],
  90: ['PRODUCER_FENCED', 'fatal'],
  91: ['RESOURCE_NOT_FOUND', 'fatal'],
  100: ['UNKNOWN_TOPIC_ID', 'leader'],
  103: ['INCONSISTENT_TOPIC_ID', 'leader'],
  104: ['INCONSISTENT_CLUSTER_ID', 'fatal'],
  106: ['FETCH_SESSION_TOPIC_ID_ERROR', 'retry'],
  109: ['OFFSET_MOVED_TO_TIERED_STORAGE', 'leader'],
  120: ['TRANSACTION_ABORTABLE', 'fatal'],
};

/** Codes that the code branches on, by name. */
export const BROKER_ERROR = {
  NONE: 0,
  OFFSET_OUT_OF_RANGE: 1,
  CORRUPT_MESSAGE: 2,
  UNKNOWN_TOPIC_OR_PARTITION: 3,
  TOPIC_AUTHORIZATION_FAILED: 29,
  GROUP_AUTHORIZATION_FAILED: 30,
  CLUSTER_AUTHORIZATION_FAILED: 31,
  UNSUPPORTED_SASL_MECHANISM: 33,
  ILLEGAL_SASL_STATE: 34,
  UNSUPPORTED_VERSION: 35,
  TOPIC_ALREADY_EXISTS: 36,
  UNSUPPORTED_COMPRESSION_TYPE: 76,
  DUPLICATE_SEQUENCE_NUMBER: 46,
  SASL_AUTHENTICATION_FAILED: 58,
  UNKNOWN_TOPIC_ID: 100,
  INCONSISTENT_TOPIC_ID: 103,
} as const;

/** The name of a code, as Kafka's documents have it: `NOT_LEADER_OR_FOLLOWER (6)`. */
export function brokerErrorName(code: number): string {
  return `${TABLE[code]?.[0] ?? 'an error that Sluice does not know'} (${code})`;
}

export function brokerErrorKind(code: number): BrokerErrorKind {
  return TABLE[code]?.[1] ?? 'fatal';
}
