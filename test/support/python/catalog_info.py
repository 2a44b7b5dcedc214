"""What an SQL catalog holds, as PyIceberg sees it and as its tables say.

python catalog_info.py CATALOG_DB WAREHOUSE
"""

import argparse
import sqlite3

from catalog import add_catalog_arguments, open_catalog, print_json


def main():
    parser = argparse.ArgumentParser()
    add_catalog_arguments(parser)
    args = parser.parse_args()
    catalog = open_catalog(args)
    namespaces = all_namespaces(catalog, ())
    print_json({
        "namespaces": [
            {"name": ".".join(name), "properties": dict(catalog.load_namespace_properties(name))} for name in namespaces
        ],
        "tables": [
            {"name": ".".join(identifier), "metadataLocation": catalog.load_table(identifier).metadata_location}
            for namespace in namespaces
            for identifier in sorted(catalog.list_tables(namespace))
        ],
        "icebergTables": rows(args.catalog_db, "iceberg_tables"),
        "icebergNamespaceProperties": rows(args.catalog_db, "iceberg_namespace_properties"),
    })


def all_namespaces(catalog, parent):
    found = []
    for namespace in sorted(catalog.list_namespaces(parent)):
        if namespace != parent:
            found += [namespace, *all_namespaces(catalog, namespace)]
    return found


def rows(path, table):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3")]
    finally:
        connection.close()


if __name__ == "__main__":
    main()
