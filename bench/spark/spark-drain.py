"""Drains a topic into a table with Spark Structured Streaming and Iceberg, as Sluice does in the same benchmark.

Run by bench/spark/spark-drain.ts with one argument, a JSON object: bootstrap, topic, jars (a directory), home (a directory
that holds the warehouse and the checkpoint), typed: null for a bronze table, else format (typed-json or typed-avro), columns
(DDL) and avroSchema. Ends when the query and its Java machine have ended.
"""

import json
import os
import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import col, expr, from_json

TABLE = "local.bronze.events"

CREATE = """
CREATE TABLE {table} ({columns}) USING iceberg PARTITIONED BY ({partitions}) TBLPROPERTIES (
  'format-version' = '2',
  'write.parquet.compression-codec' = 'zstd',
  'write.parquet.compression-level' = '1',
  -- No shuffle before the write, no sort by partition: the fastest that Iceberg has for this job.
  'write.distribution-mode' = 'none',
  'write.spark.fanout.enabled' = 'true'
)
"""

RAW_COLUMNS = (
    "value STRING, key BINARY, topic STRING, kafka_partition INT, kafka_offset BIGINT, "
    "kafka_timestamp TIMESTAMP, ingested_at TIMESTAMP, dt STRING, hour INT"
)

PROVENANCE = "topic STRING, kafka_partition INT, kafka_offset BIGINT, kafka_timestamp TIMESTAMP"

RAW_VALUES = [
    "CAST(value AS STRING) AS value",
    "key",
    "topic",
    "partition AS kafka_partition",
    "offset AS kafka_offset",
    "timestamp AS kafka_timestamp",
    "current_timestamp() AS ingested_at",
    "date_format(timestamp, 'yyyy-MM-dd') AS dt",
    "hour(timestamp) AS hour",
]


def create_statement(typed):
    if typed is None:
        return CREATE.format(table=TABLE, columns=RAW_COLUMNS, partitions="dt, hour")
    columns = f"{typed['columns']}, {PROVENANCE}"
    return CREATE.format(table=TABLE, columns=columns, partitions="days(ts)")


def rows_of(records, typed):
    """The rows of the table: every record as it is, or its value decoded once into the columns of a typed table."""
    if typed is None:
        return records.selectExpr(*RAW_VALUES)
    if typed["format"] == "typed-json":
        value = from_json(col("value").cast("string"), typed["columns"])
    else:
        # from_avro knows nothing of the registry's frame: a zero byte and the four of the schema's id.
        value = from_avro(expr("substring(value, 6)"), typed["avroSchema"])
    provenance = [
        "topic",
        "partition AS kafka_partition",
        "offset AS kafka_offset",
        "timestamp AS kafka_timestamp",
    ]
    return records.select(value.alias("decoded"), "topic", "partition", "offset", "timestamp").selectExpr(
        "decoded.*", *provenance
    )


def session(jars, home):
    config = {
        "spark.driver.memory": "2g",
        "spark.driver.extraClassPath": os.path.join(jars, "*"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": os.path.join(home, "local"),
        "spark.sql.warehouse.dir": os.path.join(home, "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
        "spark.sql.catalog.local.warehouse": os.path.join(home, "warehouse"),
    }
    builder = SparkSession.builder.master("local[2]").appName("drain")
    for key, value in config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def drain(spark, bootstrap, topic, home, typed):
    spark.sql(create_statement(typed))
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        rows_of(records, typed)
        .writeStream.format("iceberg")
        .outputMode("append")
        .option("checkpointLocation", os.path.join(home, "checkpoint"))
        .option("fanout-enabled", "true")
        .trigger(availableNow=True)
        .toTable(TABLE)
    )
    query.awaitTermination()


def main():
    args = json.loads(sys.argv[1])
    spark = session(args["jars"], args["home"])
    gateway = SparkContext._gateway
    drain(spark, args["bootstrap"], args["topic"], args["home"], args["typed"])
    spark.stop()
    # The Java machine ends with its standard input.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


main()
