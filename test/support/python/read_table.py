"""Reads a table as another engine sees it and prints it as one JSON object.

python read_table.py CATALOG_DB WAREHOUSE TABLE --engine pyiceberg|duckdb|pyarrow

PyIceberg reads the table; DuckDB and pyarrow read the data files of PyIceberg's plan (DuckDB's Iceberg extension would have to be
downloaded), so these two see what is in the files themselves and know no deletes.
"""

import argparse
from collections import Counter

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.expressions import AlwaysTrue

from catalog import add_catalog_arguments, local_path, open_catalog, plain, print_json, rows_of


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("table")
    parser.add_argument("--engine", choices=["pyiceberg", "duckdb", "pyarrow"], default="pyiceberg")
    parser.add_argument("--snapshot", type=int, help="the snapshot to read instead of the current one")
    parser.add_argument("--filter", default=None, help="a row filter of PyIceberg: prunes the files of every engine, and PyIceberg's rows")
    parser.add_argument("--columns", default=None, help="only these columns in `rows`, with commas between")
    parser.add_argument("--no-rows", action="store_true", help="leave `rows` empty, for large tables")
    args = parser.parse_args()

    print_json(
        reading(
            open_catalog(args).load_table(args.table),
            args.table,
            engine=args.engine,
            snapshot_id=args.snapshot,
            row_filter=args.filter or AlwaysTrue(),
            columns=args.columns.split(",") if args.columns else None,
            with_rows=not args.no_rows,
        )
    )


def reading(table, name, engine="pyiceberg", snapshot_id=None, row_filter=AlwaysTrue(), columns=None, with_rows=True):
    """What an engine sees of a table. `row_filter`: an expression of PyIceberg or its text."""
    scan = table.scan(snapshot_id=snapshot_id, row_filter=row_filter, selected_fields=tuple(columns) if columns else ("*",))
    # A table without a snapshot has no files to plan.
    has_snapshot = snapshot_id is not None or table.current_snapshot() is not None
    files = [task.file for task in scan.plan_files()] if has_snapshot else []
    schema, arrow = ENGINES[engine](table, scan, [local_path(file.file_path) for file in files], columns)
    return {
        "engine": engine,
        "codecs": codecs(files) if engine == "pyarrow" else None,
        "table": name,
        "uuid": str(table.metadata.table_uuid),
        "location": table.location(),
        "formatVersion": table.format_version,
        "properties": dict(table.properties),
        "schema": schema,
        "partitionSpec": [
            {"fieldId": f.field_id, "sourceId": f.source_id, "name": f.name, "transform": str(f.transform)} for f in table.spec().fields
        ],
        "rowCount": arrow.num_rows,
        "rows": rows_of(arrow) if with_rows else [],
        "partitions": partitions(table, files),
        "files": [file_entry(table, file) for file in files],
        "currentSnapshotId": table.current_snapshot().snapshot_id if table.current_snapshot() else None,
        "snapshots": [snapshot_entry(snapshot) for snapshot in table.snapshots()],
    }


def codecs(files):
    """The compressions of all column chunks."""
    footers = [pq.read_metadata(local_path(file.file_path)) for file in files]
    groups = [footer.row_group(i) for footer in footers for i in range(footer.num_row_groups)]
    return sorted({group.column(i).compression for group in groups for i in range(group.num_columns)})


def read_pyiceberg(table, scan, _paths, _columns):
    schema = [
        {"id": f.field_id, "name": f.name, "type": str(f.field_type), "required": f.required} for f in table.schema().fields
    ]
    return schema, scan.to_arrow()


def read_pyarrow(_table, _scan, paths, columns):
    if not paths:
        return [], pa.table({})
    schema = [
        {"id": field_id(f), "name": f.name, "type": str(f.type), "required": not f.nullable} for f in pq.read_schema(paths[0])
    ]
    # One file at a time: no dataset, which would add columns for a path such as dt=2026-01-01.
    parts = [pq.ParquetFile(path).read(columns=columns) for path in paths]
    return schema, pa.concat_tables(parts, promote_options="permissive")


def read_duckdb(_table, _scan, paths, columns):
    if not paths:
        return [], pa.table({})
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    source = "read_parquet($paths, union_by_name = true, hive_partitioning = false)"
    types = connection.execute(f"DESCRIBE SELECT * FROM {source}", {"paths": paths}).fetchall()
    in_file = top_level(
        connection.execute(
            "SELECT name, field_id, repetition_type, num_children FROM parquet_schema($path)", {"path": paths[0]}
        ).fetchall()
    )
    schema = [
        {"id": in_file[name][0], "name": name, "type": type_name, "required": in_file[name][1] == "REQUIRED"}
        for name, type_name, *_ in types
        if name in in_file
    ]
    wanted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns) if columns else "*"
    return schema, connection.execute(f"SELECT {wanted} FROM {source}", {"paths": paths}).to_arrow_table()


def top_level(elements):
    """The columns of a file by name: (field id, repetition). `elements` is its schema tree, depth first, the root first."""
    columns, position = {}, 1

    def skip(at):
        following = at + 1
        for _ in range(elements[at][3] or 0):
            following = skip(following)
        return following

    while position < len(elements):
        name, field_id, repetition, _ = elements[position]
        columns[name] = (field_id, repetition)
        position = skip(position)
    return columns


ENGINES = {"pyiceberg": read_pyiceberg, "pyarrow": read_pyarrow, "duckdb": read_duckdb}


def field_id(field):
    text = (field.metadata or {}).get(b"PARQUET:field_id")
    return None if text is None else int(text)


def partition_of(table, file):
    fields = table.specs()[file.spec_id].fields
    return {field.name: plain(file.partition[position]) for position, field in enumerate(fields)}


def partitions(table, files):
    """One entry per partition that has files: its values, files and records."""
    counts, records, values = Counter(), Counter(), {}
    for file in files:
        partition = partition_of(table, file)
        key = repr(sorted(partition.items()))
        values[key] = partition
        counts[key] += 1
        records[key] += file.record_count
    return [{"partition": values[key], "files": counts[key], "records": records[key]} for key in sorted(values)]


def file_entry(table, file):
    def by_field(counts):
        return {str(key): value for key, value in (counts or {}).items()}

    return {
        "path": file.file_path,
        "records": file.record_count,
        "bytes": file.file_size_in_bytes,
        "partition": partition_of(table, file),
        "sortOrderId": file.sort_order_id,
        "splitOffsets": list(file.split_offsets or []),
        "columnSizes": by_field(file.column_sizes),
        "valueCounts": by_field(file.value_counts),
        "nullCounts": by_field(file.null_value_counts),
        "nanCounts": by_field(file.nan_value_counts),
        "lowerBounds": {str(key): bytes(value).hex() for key, value in (file.lower_bounds or {}).items()},
        "upperBounds": {str(key): bytes(value).hex() for key, value in (file.upper_bounds or {}).items()},
    }


def snapshot_entry(snapshot):
    summary = dict(snapshot.summary.additional_properties) if snapshot.summary else {}
    if snapshot.summary:
        summary["operation"] = snapshot.summary.operation.value
    return {
        "id": snapshot.snapshot_id,
        "parentId": snapshot.parent_snapshot_id,
        "sequenceNumber": snapshot.sequence_number,
        "timestampMs": snapshot.timestamp_ms,
        "manifestList": snapshot.manifest_list,
        "summary": summary,
    }


if __name__ == "__main__":
    main()
