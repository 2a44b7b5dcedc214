"""Tables that PyIceberg made its own way, for a pipeline to append to.

python foreign_tables.py CATALOG_DB WAREHOUSE create KIND TABLE
python foreign_tables.py CATALOG_DB WAREHOUSE append TABLE --rows N --first-offset N

KIND is a function of this file below. `append` writes rows of topic `by-pyiceberg`, partition 0, of whatever columns the table has.
"""

import argparse
from datetime import datetime, timedelta, timezone

import pyarrow as pa
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, HourTransform, IdentityTransform, TruncateTransform, YearTransform
from pyiceberg.types import (
    BinaryType,
    DecimalType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from catalog import add_catalog_arguments, open_catalog, print_json

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
TYPES = {
    "value": StringType(),
    "key": BinaryType(),
    "topic": StringType(),
    "kafka_partition": IntegerType(),
    "kafka_offset": LongType(),
    "kafka_timestamp": TimestamptzType(),
    "ingested_at": TimestamptzType(),
    "dt": StringType(),
    "hour": IntegerType(),
}


def columns(*names, required=()):
    return [NestedField(100 + i, name, TYPES[name], required=name in required) for i, name in enumerate(names)]


def spec_of(schema, *fields):
    return PartitionSpec(*(
        PartitionField(source_id=schema.find_field(column).field_id, field_id=1000 + i, transform=transform, name=name)
        for i, (column, transform, name) in enumerate(fields)
    ))


def reordered(catalog, name):
    """Other columns first, in another order, without dt and headers; partitions of its own."""
    schema = Schema(
        NestedField(50, "note", StringType(), required=False),
        NestedField(51, "origin", StructType(NestedField(52, "host", StringType(), required=True), NestedField(53, "port", IntegerType())), required=False),
        NestedField(54, "tags", ListType(55, StringType(), element_required=True), required=False),
        NestedField(56, "labels", MapType(57, StringType(), 58, DecimalType(20, 3), value_required=False), required=False),
        *columns(
            "kafka_offset", "kafka_timestamp", "value", "hour", "topic", "key", "kafka_partition", "ingested_at",
            required=("kafka_offset", "topic", "kafka_partition", "ingested_at"),
        ),
    )
    spec = spec_of(
        schema,
        ("key", BucketTransform(8), "any_name"),
        ("kafka_timestamp", DayTransform(), "day"),
        ("note", IdentityTransform(), "note"),
        ("value", TruncateTransform(2), "v2"),
    )
    catalog.create_table(name, schema=schema, partition_spec=spec, properties={"write.metadata.compression-codec": "gzip"})


def evolved(catalog, name, version="2", drop=True):
    """Columns added, renamed, moved and dropped, and a spec that was changed twice, with rows under each."""
    schema = Schema(
        NestedField(1, "gone", StringType(), required=False),
        NestedField(2, "payload", StringType(), required=False),
        *columns("topic", "kafka_partition", "kafka_offset", "dt"),
    )
    spec = spec_of(schema, ("dt", IdentityTransform(), "dt"), ("gone", TruncateTransform(1), "gone_trunc"))
    table = catalog.create_table(name, schema=schema, partition_spec=spec, properties={"format-version": version})
    table.append(rows(table, 5, 0))
    with table.update_spec() as update:
        update.remove_field("gone_trunc")
        update.add_field("kafka_offset", TruncateTransform(10), "offset10")
    table.append(rows(table, 5, 5))
    with table.update_schema() as update:
        update.rename_column("payload", "value")
        update.add_column("key", StringType())
        update.add_column("kafka_timestamp", TimestamptzType())
        update.add_column("hour", IntegerType())
        update.move_first("hour")
    if drop:
        with table.update_schema(allow_incompatible_changes=True) as update:
            update.delete_column("gone")
    with table.update_spec() as update:
        update.remove_field("dt")
        update.add_field("kafka_timestamp", HourTransform(), "at")
    table.append(rows(table, 5, 10))


def upgraded(catalog, name):
    """As `evolved`, begun in version 1: its spec has void fields, without whose columns PyIceberg itself could not write."""
    evolved(catalog, name, version="1", drop=False)
    with catalog.load_table(name).transaction() as transaction:
        transaction.upgrade_table_version(2)


def version1(catalog, name):
    schema = Schema(*columns(*TYPES))
    catalog.create_table(name, schema=schema, properties={"format-version": "1"})


def incompatible(catalog, name):
    schema = Schema(
        NestedField(1, "key", StringType(), required=True),
        NestedField(2, "kafka_partition", LongType(), required=False),
        NestedField(3, "kafka_timestamp", TimestampType(), required=False),
        NestedField(4, "owner", StringType(), required=True),
    )
    catalog.create_table(name, schema=schema, properties={"format-version": "1"})


def quarantine(catalog, name):
    """A quarantine table with a column more, in another order, partitioned by what differs from record to record."""
    header = StructType(NestedField(31, "key", StringType(), required=True), NestedField(32, "value", BinaryType(), required=False))
    schema = Schema(
        NestedField(1, "handled_by", StringType(), required=False),
        NestedField(2, "reason", StringType(), required=True),
        NestedField(3, "quarantined_at", TimestamptzType(), required=True),
        NestedField(4, "headers", ListType(30, header, element_required=True), required=False),
        NestedField(5, "value", BinaryType(), required=False),
        NestedField(6, "key", BinaryType(), required=False),
        *columns("kafka_timestamp", "kafka_offset", "kafka_partition", "topic"),
        NestedField(7, "field", StringType(), required=False),
        NestedField(8, "pipeline", StringType(), required=False),
        NestedField(9, "batch_id", LongType(), required=False),
    )
    spec = spec_of(
        schema,
        ("reason", IdentityTransform(), "reason"),
        ("kafka_timestamp", YearTransform(), "year"),
        ("key", BucketTransform(4), "key_bucket"),
        ("batch_id", IdentityTransform(), "batch_id"),
    )
    catalog.create_table(name, schema=schema, partition_spec=spec)


KINDS = {f.__name__: f for f in (reordered, evolved, upgraded, version1, incompatible, quarantine)}


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create")
    create.add_argument("kind", choices=sorted(KINDS))
    create.add_argument("table")
    append = commands.add_parser("append")
    append.add_argument("table")
    append.add_argument("--rows", type=int, required=True)
    append.add_argument("--first-offset", type=int, required=True)
    args = parser.parse_args()

    catalog = open_catalog(args)
    catalog.create_namespace_if_not_exists(args.table.rpartition(".")[0])
    if args.command == "create":
        KINDS[args.kind](catalog, args.table)
    else:
        table = catalog.load_table(args.table)
        table.append(rows(table, args.rows, args.first_offset))
    table = catalog.load_table(args.table)
    print_json({"location": table.location(), "formatVersion": table.format_version, "specId": table.spec().spec_id})


def rows(table, count, first):
    """Rows of the columns that the table has and this file knows."""
    offsets = range(first, first + count)
    times = [START + timedelta(hours=offset) for offset in offsets]
    known = {
        "value": [f"row {offset}" for offset in offsets],
        "payload": [f"row {offset}" for offset in offsets],
        "gone": [f"g{offset}" for offset in offsets],
        "topic": ["by-pyiceberg"] * count,
        "kafka_partition": [0] * count,
        "kafka_offset": list(offsets),
        "kafka_timestamp": times,
        "ingested_at": times,
        "dt": [time.strftime("%Y-%m-%d") for time in times],
        "hour": [time.hour for time in times],
    }
    schema = table.schema().as_arrow()
    return pa.table({name: pa.array(known.get(name, [None] * count), schema.field(name).type) for name in schema.names}, schema=schema)


if __name__ == "__main__":
    main()
