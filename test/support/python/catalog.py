"""What the scripts of this directory share: opening a catalog, and values as JSON."""

import json
import os
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import StaticTable


def add_catalog_arguments(parser):
    parser.add_argument("catalog_db", help="the SQLite file of the catalog; the directory of a file catalog")
    parser.add_argument("warehouse", help="the directory of the tables")
    parser.add_argument("--catalog", default="sluice", help="catalog_name in the catalog's tables")


class Directories:
    """A file catalog, as far as PyIceberg reads one: by each table's version hint."""

    def __init__(self, warehouse):
        self.warehouse = warehouse

    def load_table(self, name):
        directory = os.path.join(self.warehouse, *name.split("."))
        with open(os.path.join(directory, "metadata", "version-hint.text")) as hint:
            version = hint.read()
        return StaticTable.from_metadata(os.path.join(directory, "metadata", f"v{version}.metadata.json"))


def open_catalog(args):
    if os.path.isdir(args.catalog_db):
        return Directories(args.warehouse)
    return SqlCatalog(args.catalog, uri=f"sqlite:///{args.catalog_db}", warehouse=args.warehouse)


def local_path(location):
    """A path for readers that know no Iceberg: `file:///a`, `file:/a` and `/a` are the same file."""
    if location.startswith("file:"):
        return "/" + location[len("file:"):].lstrip("/")
    return location


def plain(value):
    """A value as JSON: binary in hex, timestamps, times and intervals in microseconds, decimals and NaN as text."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, datetime):
        epoch = datetime(1970, 1, 1, tzinfo=value.tzinfo)
        return (value - epoch) // timedelta(microseconds=1)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return (value.hour * 3600 + value.minute * 60 + value.second) * 1_000_000 + value.microsecond
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def rows_of(table):
    """The rows of an Arrow table as JSON objects, sorted by topic, kafka_partition and kafka_offset where it has them."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_timestamp(column.type):
            # Exact, and without a time zone database.
            column = pc.cast(column, pa.timestamp("us", column.type.tz)).cast(pa.int64())
            columns[name] = column.to_pylist()
        else:
            columns[name] = [plain(value) for value in column.to_pylist()]
    names = list(columns)
    rows = [dict(zip(names, values)) for values in zip(*columns.values())]
    order = [name for name in ("topic", "kafka_partition", "kafka_offset") if name in columns]
    key = (lambda row: [row[name] for name in order]) if order else (lambda row: json.dumps(row, sort_keys=True))
    return sorted(rows, key=key)


def print_json(value):
    json.dump(value, sys.stdout, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    sys.stdout.write("\n")
