"""librdkafka's part of the topics of kafka-traffic.ts: python librdkafka_traffic.py BOOTSTRAP. Prints the version of librdkafka."""

import json
import random
import sys
import time

from confluent_kafka import Producer, libversion

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
# 2024-01-01T00:00:00Z
START_MS = 1_704_067_200_000
MIXED = len(CODECS)


def main():
    bootstrap = sys.argv[1]
    for partition, codec in enumerate(CODECS):
        every_kind(bootstrap, codec, partition)
    mixed(bootstrap)
    compacted(bootstrap)
    print(json.dumps({"librdkafka": libversion()[0]}))


def every_kind(bootstrap, codec, partition):
    """Batches of one record and huge ones; without idempotence, with it, in transactions that commit and abort."""
    plain = producer(bootstrap, codec)
    idempotent = producer(bootstrap, codec, {"enable.idempotence": True})
    transactional = producer(bootstrap, codec, {"transactional.id": f"librdkafka-{codec}"})
    transactional.init_transactions()
    for n in range(24):
        send(plain, "librdkafka", partition, odd(n))
        flush(plain)
    for n in range(12_000):
        send(idempotent, "librdkafka", partition, small(n))
    flush(idempotent)
    for turn in range(4):
        transactional.begin_transaction()
        for n in range(30):
            send(transactional, "librdkafka", partition, odd(100 * turn + n))
            send(transactional, "librdkafka", MIXED, odd(1000 * partition + 100 * turn + n))
            if n % 10 == 9:
                flush(transactional)
        if turn % 2 == 0:
            transactional.commit_transaction()
        else:
            transactional.abort_transaction()
        for n in range(7):
            send(plain, "librdkafka", MIXED, odd(500 + n))
        flush(plain)
    for n in range(20):
        send(plain, "append-time", 1, odd(n))
    flush(plain)
    for at, size in enumerate((1_100_000, 20, 2_500_000)):
        value = random.Random(at).randbytes(size) if partition % 2 == 0 else bytes(i * 31 >> 9 & 0xFF for i in range(size))
        send(idempotent, "big", 1, (codec.encode(), value, START_MS, []))
        flush(idempotent)
    for to in range(len(CODECS)):
        topic = "by-broker-" + ("uncompressed" if to == 0 else CODECS[to])
        for n in range(100):
            send(idempotent, topic, 0, small(n))
        flush(idempotent)


def mixed(bootstrap):
    """On one partition with every other client at the same time."""
    plain = producer(bootstrap, "snappy")
    transactional = producer(bootstrap, "zstd", {"transactional.id": "librdkafka-mixed"})
    transactional.init_transactions()
    for turn in range(12):
        transactional.begin_transaction()
        for n in range(8):
            send(transactional, "mixed", 0, odd(50_000 + 100 * turn + n))
        flush(transactional)
        for n in range(3):
            send(plain, "mixed", 0, odd(60_000 + 100 * turn + n))
        flush(plain)
        if turn % 2 == 0:
            transactional.commit_transaction()
        else:
            transactional.abort_transaction()


def compacted(bootstrap):
    for part, codec in enumerate(CODECS):
        idempotent = producer(bootstrap, codec, {"enable.idempotence": True})
        for n in range(200):
            key = f"once-{part}-{n}" if n % 13 == 0 else f"again-{n % 20}"
            value = None if n % 13 == 0 else f"value {n}".encode()
            send(idempotent, "compacted", 2, (key.encode(), value, START_MS + n, []))
            if n % 16 == 15:
                flush(idempotent)
        flush(idempotent)
    # Its time ends the segment, so that the cleaner may have what lies before.
    send(idempotent, "compacted", 2, (b"roll", b"roll", int(time.time() * 1000) + 7_200_000, []))
    flush(idempotent)


def odd(n):
    """Records with null, empty and odd keys and values, tombstones, and headers of every kind; times go back and forth."""
    keys = [None, b"", f"key {n}".encode(), bytes([0xFF, 0, n % 256]), ("ключ😀" * (n % 9 * 20)).encode()]
    values = [None, b"", f'{{"n":{n}}}'.encode(), bytes([0xFE, n % 256]), f"long {n}{' ' * (n % 200 + 30)}".encode(), ("€" * 2000).encode(), b"\0"]
    headers = [
        [],
        [("trace", f"t{n}".encode())],
        [("trace", None), ("trace", b"again"), ("", b""), ("trace", b"\xff"), ("имя😀", b"x" * (n % 7 * 40))],
    ][n % 3]
    return keys[n % 5], values[n % 7], START_MS + n * 7919 % 3_600_000, headers


def small(n):
    return None if n % 2 == 0 else str(n).encode(), f"v{n % 100}".encode(), START_MS + n, []


def producer(bootstrap, codec, more=None):
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": codec,
            # Batches are sent at `flush`, or when they are full.
            "linger.ms": 10_000,
            "batch.num.messages": 100_000,
            "batch.size": 900_000,
            "message.max.bytes": 8_000_000,
            **(more or {}),
        }
    )


def send(to, topic, partition, record):
    key, value, timestamp, headers = record
    to.produce(topic, value=value, key=key, partition=partition, timestamp=timestamp, headers=headers, on_delivery=delivered)


def delivered(error, _message):
    if error is not None:
        raise RuntimeError(f"librdkafka could not deliver: {error}")


def flush(of):
    if of.flush(60) > 0:
        raise RuntimeError("librdkafka did not deliver within a minute")


if __name__ == "__main__":
    main()
