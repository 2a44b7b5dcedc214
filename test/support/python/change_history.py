"""Changes which snapshots a table lists and its refs name, with PyIceberg.

python change_history.py CATALOG_DB WAREHOUSE TABLE expire ID... | branch NAME ID | rollback ID

Prints each snapshot that is left with its parent.
"""

import argparse

from catalog import add_catalog_arguments, open_catalog, print_json


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("table")
    parser.add_argument("action", choices=["expire", "branch", "rollback"])
    parser.add_argument("arguments", nargs="+")
    args = parser.parse_args()

    catalog = open_catalog(args)
    table = catalog.load_table(args.table)
    if args.action == "expire":
        table.maintenance.expire_snapshots().by_ids([int(text) for text in args.arguments]).commit()
    elif args.action == "branch":
        name, snapshot_id = args.arguments
        table.manage_snapshots().create_branch(snapshot_id=int(snapshot_id), branch_name=name).commit()
    else:
        table.manage_snapshots().set_current_snapshot(snapshot_id=int(args.arguments[0])).commit()
    table = catalog.load_table(args.table)
    print_json([{"id": snapshot.snapshot_id, "parentId": snapshot.parent_snapshot_id} for snapshot in table.snapshots()])


if __name__ == "__main__":
    main()
