"""Reads tables of nested columns with PyIceberg, and their data files with pyarrow and DuckDB; prints one JSON array.

python nested_tables.py CATALOG_DB WAREHOUSE TABLE... [--rewrite DIRECTORY]

Values by type: structs as objects, lists as arrays, maps as arrays of pairs, binary in hex, floats in the hex of their bits, times,
timestamps and dates as integers, decimals unscaled. With `--rewrite` pyarrow writes the rows of each table into DIRECTORY again:
TABLE-v1.parquet and TABLE-v2.parquet with data pages of that version, small ones, that end within rows where the writer likes.
"""

import argparse
import struct
from decimal import localcontext

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import (
    compute_statistics_plan,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
    pyarrow_to_schema,
)

from catalog import add_catalog_arguments, local_path, open_catalog, print_json


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--rewrite", default=None)
    args = parser.parse_args()
    catalog = open_catalog(args)
    print_json([reading(catalog.load_table(name), name, args.rewrite) for name in args.tables])


def reading(table, name, directory):
    scan = table.scan()
    files = [task.file for task in scan.plan_files()]
    assert len(files) == 1
    path = local_path(files[0].file_path)
    # strict: checksums are verified, and every page is decoded
    file = pq.ParquetFile(path, page_checksum_verification=True)
    arrow = file.read()
    arrow.validate(full=True)
    if directory is not None:
        for version in ("1", "2"):
            options = {"data_page_version": f"{version}.0", "use_dictionary": version == "2", "row_group_size": 25}
            pq.write_table(arrow, f"{directory}/{name}-v{version}.parquet", data_page_size=64, write_batch_size=7, compression="zstd", **options)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    foreign = data_file_statistics_from_parquet_metadata(
        file.metadata, compute_statistics_plan(table.schema(), {}), parquet_path_to_id_mapping(table.schema())
    )
    return {
        "pyiceberg": rows(scan.to_arrow()),
        "pyarrow": rows(arrow),
        "duckdb": rows(connection.execute("SELECT * FROM read_parquet($path)", {"path": path}).to_arrow_table()),
        # the fields with their ids and what is required, from the table's metadata and from the file alone
        "tableSchema": [str(field) for field in table.schema().fields],
        "fileSchema": [str(field) for field in pyarrow_to_schema(file.schema_arrow).fields],
        "manifest": counts(files[0]),
        "computed": {
            "values": by_id(foreign.value_counts),
            "nulls": by_id(foreign.null_value_counts),
            "sizes": by_id(foreign.column_sizes),
            "splitOffsets": foreign.split_offsets,
        },
    }


def counts(file):
    return {
        "values": by_id(file.value_counts),
        "nulls": by_id(file.null_value_counts),
        "sizes": by_id(file.column_sizes),
        "splitOffsets": file.split_offsets,
        "lower": {str(k): v.hex() for k, v in (file.lower_bounds or {}).items()},
        "upper": {str(k): v.hex() for k, v in (file.upper_bounds or {}).items()},
    }


def by_id(values):
    return {str(key): value for key, value in (values or {}).items()}


def rows(table):
    columns = [values(table[name].combine_chunks()) for name in table.column_names]
    return [dict(zip(table.column_names, row)) for row in zip(*columns)]


def values(array):
    """The values of an array; nulls as None."""
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks > 0 else pa.array([], array.type)
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return values(array.storage)
    there = array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        names = [kind.field(i).name for i in range(kind.num_fields)]
        fields = [values(child) for child in array.flatten()]
        return [dict(zip(names, row)) if ok else None for ok, row in zip(there, zip(*fields))]
    if pa.types.is_map(kind):
        keys, items, offsets = values(array.keys), values(array.items), array.offsets.to_pylist()
        return [[list(p) for p in zip(keys[a:b], items[a:b])] if ok else None for ok, a, b in spans(there, offsets)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner, offsets = values(array.values), array.offsets.to_pylist()
        return [inner[a:b] if ok else None for ok, a, b in spans(there, offsets)]
    return [None if value is None else flat(kind, value) for value in integers(array).to_pylist()]


def spans(there, offsets):
    return zip(there, offsets[:-1], offsets[1:])


def integers(array):
    kind = array.type
    if pa.types.is_date32(kind):
        return array.cast(pa.int32())
    return array.cast(pa.int64()) if pa.types.is_temporal(kind) else array


def flat(kind, value):
    if pa.types.is_floating(kind):
        return struct.pack(">d", value).hex()
    if pa.types.is_decimal(kind):
        with localcontext() as context:
            context.prec = 80
            return str(int(value.scaleb(kind.scale)))
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return value


main()
