"""Reads many tables in one process: as read_table.py, for each request of a file, and what PyIceberg makes of summaries.

python read_many.py CATALOG_DB WAREHOUSE REQUESTS

REQUESTS is a JSON list. A request is {"table", "engine", "snapshot", "where", "columns", "rows"}, all but the table optional. `where`
is a condition: {"column", "op", "value", "type"} with op one of = < <= > >= starts null notNull and type one of int, string, binary
(hex), timestamp (microseconds, UTC); or {"and": [conditions]}. Prints a list of what read_table.py prints, and for
{"table", "summaries": true} the summaries that PyIceberg computes of each snapshot's manifests.
"""

import argparse
import json
from datetime import datetime, timedelta, timezone

from pyiceberg.expressions import (
    AlwaysTrue,
    And,
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    IsNull,
    LessThan,
    LessThanOrEqual,
    NotNull,
    StartsWith,
)
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table.snapshots import Operation, SnapshotSummaryCollector, Summary, update_snapshot_summaries

from catalog import add_catalog_arguments, open_catalog, print_json
from read_table import reading

COMPARISONS = {"=": EqualTo, "<": LessThan, "<=": LessThanOrEqual, ">": GreaterThan, ">=": GreaterThanOrEqual, "starts": StartsWith}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("requests")
    args = parser.parse_args()
    catalog = open_catalog(args)
    with open(args.requests, encoding="utf-8") as file:
        requests = json.load(file)
    print_json([answer(catalog, request) for request in requests])


def answer(catalog, request):
    table = catalog.load_table(request["table"])
    if request.get("summaries"):
        return [{"id": snapshot.snapshot_id, "summary": computed_summary(table, snapshot)} for snapshot in table.snapshots()]
    return reading(
        table,
        request["table"],
        engine=request.get("engine", "pyiceberg"),
        snapshot_id=request.get("snapshot"),
        row_filter=condition(request["where"]) if request.get("where") else AlwaysTrue(),
        columns=request.get("columns"),
        with_rows=request.get("rows", True),
    )


def condition(where):
    if "and" in where:
        return And(*(condition(part) for part in where["and"])) if len(where["and"]) > 1 else condition(where["and"][0])
    if where["op"] == "null":
        return IsNull(where["column"])
    if where["op"] == "notNull":
        return NotNull(where["column"])
    return COMPARISONS[where["op"]](where["column"], literal(where))


def literal(where):
    value = where["value"]
    if where["type"] == "binary":
        return bytes.fromhex(value)
    if where["type"] == "timestamp":
        return (EPOCH + timedelta(microseconds=int(value))).isoformat()
    return int(value) if where["type"] == "int" else value


def computed_summary(table, snapshot):
    """What PyIceberg would have written for this snapshot: from the entries that it added and its parent's totals."""
    collector = SnapshotSummaryCollector()
    for manifest in snapshot.manifests(table.io):
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=False):
            if entry.snapshot_id != snapshot.snapshot_id:
                continue
            if entry.status == ManifestEntryStatus.ADDED:
                collector.add_file(entry.data_file, schema=table.schema(), partition_spec=table.specs()[manifest.partition_spec_id])
            elif entry.status == ManifestEntryStatus.DELETED:
                collector.remove_file(entry.data_file, schema=table.schema(), partition_spec=table.specs()[manifest.partition_spec_id])
    parent = table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
    summary = update_snapshot_summaries(
        Summary(Operation.APPEND, **collector.build()),
        previous_summary=parent.summary.additional_properties if parent and parent.summary else None,
    )
    return dict(summary.additional_properties)


if __name__ == "__main__":
    main()
