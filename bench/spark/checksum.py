"""Counts and sums what a table holds, whoever wrote it: every column but the time at which a row was taken in.

Arguments: the path of the table's current metadata file. The live data files are those that PyIceberg plans; DuckDB reads
them. Prints one JSON object: rows, checksum (a sum of 64-bit hashes, whatever the order of the rows), columns, dataFiles,
dataFileBytes.
"""

import json
import sys

import duckdb
from pyiceberg.table import StaticTable

table = StaticTable.from_metadata(sys.argv[1])
files = [task.file for task in table.scan().plan_files()]
paths = [file.file_path.removeprefix("file://").removeprefix("file:") for file in files]
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
connection.execute("SET threads = 2")
names = [field.name for field in table.schema().fields if field.name != "ingested_at"]
columns = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
rows, checksum = (0, 0)
if paths:
    rows, checksum = connection.execute(
        f"""
        SELECT count(*), sum(CAST(hash({columns}) AS HUGEINT))
        FROM read_parquet(?, hive_partitioning = false)
        """,
        [paths],
    ).fetchone()
print(
    json.dumps(
        {
            "rows": rows,
            "checksum": str(checksum),
            "columns": [f"{field.name} {field.field_type}" for field in table.schema().fields],
            "partitionedBy": [f"{field.transform}({field.name})" for field in table.spec().fields],
            "dataFiles": len(files),
            "dataFileBytes": sum(file.file_size_in_bytes for file in files),
        }
    )
)
