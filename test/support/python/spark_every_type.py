"""Reads tables of every type with Apache Spark, by the location of their metadata, and prints their rows as JSON.

python spark_every_type.py JARS METADATA...

JARS is a directory with Iceberg's runtime. Days are texts, timestamps microseconds, bytes hex, decimals texts, maps lists of entries.
Run with the Python of the race against Spark (services/spark/requirements.txt).
"""

import glob
import sys

from pyspark.sql import SparkSession

ROW = """to_json(struct(
  id, flag, small, big, single, twice, cast(day AS string) day, unix_micros(cast(local AS timestamp)) local, unix_micros(instant) instant,
  text, replace(uid, '-', '') uid, lower(hex(bin)) bin, lower(hex(four)) four, cast(d1 AS string) d1, cast(d9 AS string) d9,
  cast(d18 AS string) d18, cast(d19 AS string) d19, cast(d38 AS string) d38,
  if(pair IS NULL, NULL, struct(pair.a, if(pair.b IS NULL, NULL, struct(unix_micros(pair.b.at) at, replace(pair.b.uid, '-', '') uid)) b)) pair,
  transform(list, x -> cast(x AS string)) list, map_entries(map) map, lines
), map('ignoreNullFields', 'false')) AS row"""


def main():
    jars = ",".join(glob.glob(sys.argv[1] + "/iceberg-spark-runtime-*.jar"))
    builder = SparkSession.builder.master("local[1]").config("spark.jars", jars).config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    tables = []
    for location in sys.argv[2:]:
        rows = spark.read.format("iceberg").load(location).orderBy("id").selectExpr(ROW).collect()
        tables.append("[" + ",".join(row.row for row in rows) + "]")
    print("[" + ",".join(tables) + "]")
    spark.stop()


if __name__ == "__main__":
    main()
