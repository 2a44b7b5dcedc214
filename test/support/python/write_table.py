"""Writes a table with PyIceberg, in the layout of bronze tables: creates it where it is missing, and appends rows.

python write_table.py CATALOG_DB WAREHOUSE TABLE [--rows N] [--first-offset N] [--topic T] [--format-version 1|2]

Row i of a partition is a function of its offset alone: value `{"n":OFFSET}`, key `k` + OFFSET % 7 (null where OFFSET % 5 is 0), a
timestamp of 2026-01-01T00:00:00Z + OFFSET minutes; partition 0. Prints the table's location and its current snapshot.
"""

import argparse
from datetime import datetime, timedelta, timezone

import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import BinaryType, IntegerType, LongType, NestedField, StringType, TimestamptzType

from catalog import add_catalog_arguments, open_catalog, print_json

SCHEMA = Schema(
    NestedField(1, "value", StringType(), required=False),
    NestedField(2, "key", BinaryType(), required=False),
    NestedField(3, "topic", StringType(), required=True),
    NestedField(4, "kafka_partition", IntegerType(), required=True),
    NestedField(5, "kafka_offset", LongType(), required=True),
    NestedField(6, "kafka_timestamp", TimestamptzType(), required=False),
    NestedField(7, "ingested_at", TimestamptzType(), required=True),
    NestedField(8, "dt", StringType(), required=False),
    NestedField(9, "hour", IntegerType(), required=False),
)
SPEC = PartitionSpec(
    PartitionField(source_id=8, field_id=1000, transform=IdentityTransform(), name="dt"),
    PartitionField(source_id=9, field_id=1001, transform=IdentityTransform(), name="hour"),
)
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("table")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--first-offset", type=int, default=0)
    parser.add_argument("--topic", default="written-by-pyiceberg")
    parser.add_argument("--format-version", default="2")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE", help="a property of a new table")
    args = parser.parse_args()

    catalog = open_catalog(args)
    catalog.create_namespace_if_not_exists(args.table.rpartition(".")[0])
    try:
        table = catalog.load_table(args.table)
    except NoSuchTableError:
        properties = {"format-version": args.format_version, **dict(text.split("=", 1) for text in args.property)}
        table = catalog.create_table(args.table, schema=SCHEMA, partition_spec=SPEC, properties=properties)
    if args.rows > 0:
        table.append(rows(args.topic, args.first_offset, args.rows, table.schema().as_arrow()))
    print_json({
        "location": table.location(),
        "metadataLocation": table.metadata_location,
        "snapshotId": table.current_snapshot().snapshot_id if table.current_snapshot() else None,
    })


def rows(topic, first, count, schema):
    offsets = range(first, first + count)
    times = [START + timedelta(minutes=offset) for offset in offsets]
    return pa.table(
        {
            "value": [f'{{"n":{offset}}}' for offset in offsets],
            "key": [None if offset % 5 == 0 else f"k{offset % 7}".encode() for offset in offsets],
            "topic": [topic] * count,
            "kafka_partition": [0] * count,
            "kafka_offset": list(offsets),
            "kafka_timestamp": times,
            "ingested_at": times,
            "dt": [time.strftime("%Y-%m-%d") for time in times],
            "hour": [time.hour for time in times],
        },
        schema=schema,
    )


if __name__ == "__main__":
    main()
