"""Changes the columns of a table as PyIceberg does, in one commit.

python alter_table.py CATALOG_DB WAREHOUSE TABLE CHANGES

CHANGES is a JSON list of ["add", path, type], ["rename", path, name], ["drop", path], ["widen", path, type], ["optional", path] and
["first", path]; types are `string`, `long`, `double`. Prints the columns as they are then.
"""

import argparse
import json

from pyiceberg.types import DoubleType, LongType, StringType

from catalog import add_catalog_arguments, open_catalog, print_json

TYPES = {"string": StringType, "long": LongType, "double": DoubleType}


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    parser.add_argument("table")
    parser.add_argument("changes")
    args = parser.parse_args()
    table = open_catalog(args).load_table(args.table)
    with table.update_schema() as update:
        for kind, path, *rest in json.loads(args.changes):
            # A list says that a dot is no part of a name.
            place = tuple(path.split(".")) if "." in path else path
            if kind == "add":
                update.add_column(place, TYPES[rest[0]]())
            elif kind == "rename":
                update.rename_column(place, rest[0])
            elif kind == "drop":
                update.delete_column(place)
            elif kind == "widen":
                update.update_column(place, TYPES[rest[0]]())
            elif kind == "optional":
                update.make_column_optional(place)
            else:
                update.move_first(place)
    print_json([str(field) for field in table.refresh().schema().fields])


if __name__ == "__main__":
    main()
