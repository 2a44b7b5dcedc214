"""Reads one Parquet file with pyarrow and DuckDB and prints what both see as one JSON object.

python inspect_parquet.py FILE
"""

import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import pyarrow_to_schema

from catalog import plain, print_json


def main():
    path = sys.argv[1]
    # strict: checksums are verified, and every page is decoded
    file = pq.ParquetFile(path, page_checksum_verification=True)
    table = file.read()
    table.validate(full=True)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    print_json({
        "pyarrow": {
            "rows": rows(table),
            "fields": [field(f) for f in file.schema_arrow],
            "parquet": [column(file.schema.column(i)) for i in range(len(file.schema))],
            "rowGroups": [row_group(file.metadata.row_group(i)) for i in range(file.metadata.num_row_groups)],
            "createdBy": file.metadata.created_by,
        },
        "pyiceberg": [str(f) for f in pyarrow_to_schema(file.schema_arrow).fields],
        "duckdb": {
            "rows": rows(connection.execute(f"SELECT * FROM read_parquet('{path}')").to_arrow_table()),
            "schema": plain(connection.execute(f"SELECT name, type, field_id, logical_type FROM parquet_schema('{path}')").fetchall()),
        },
    })


def rows(table):
    columns = []
    for name in table.column_names:
        values = table[name]
        if pa.types.is_temporal(values.type):
            wide = pa.int32() if pa.types.is_date(values.type) else pa.int64()
            columns.append(values.cast(wide).to_pylist())
        elif pa.types.is_floating(values.type):
            # by bits: NaN and -0.0 are told apart from what they equal or do not
            columns.append([None if v is None else v.hex() for v in values.to_pylist()])
        else:
            columns.append([plain(v) for v in values.to_pylist()])
    return [list(row) for row in zip(*columns)]


def field(f):
    entry = {"name": f.name, "type": str(f.type), "nullable": f.nullable, "id": int((f.metadata or {}).get(b"PARQUET:field_id", -1))}
    if pa.types.is_list(f.type):
        entry["children"] = [field(f.type.value_field)]
    elif pa.types.is_struct(f.type):
        entry["children"] = [field(f.type.field(i)) for i in range(f.type.num_fields)]
    return entry


def column(c):
    return {"path": c.path, "physical": c.physical_type, "length": c.length, "logical": str(c.logical_type), "converted": c.converted_type,
            "definition": c.max_definition_level, "repetition": c.max_repetition_level}


def row_group(group):
    return {"rows": group.num_rows, "columns": [chunk(group.column(i)) for i in range(group.num_columns)]}


def chunk(c):
    statistics = c.statistics
    return {
        "path": c.path_in_schema,
        "compression": c.compression,
        "encodings": list(c.encodings),
        "nullCount": statistics.null_count if statistics is not None and statistics.has_null_count else None,
        "min": plain(statistics.min_raw) if statistics is not None and statistics.has_min_max else None,
        "max": plain(statistics.max_raw) if statistics is not None and statistics.has_min_max else None,
        "hasColumnIndex": c.has_column_index,
        "hasOffsetIndex": c.has_offset_index,
        "hasBloomFilter": c.bloom_filter_offset is not None,
    }


main()
