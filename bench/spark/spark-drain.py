"""Drains a topic into a bronze table with Spark Structured Streaming and Iceberg, as Sluice's raw benchmark does.

Run by bench/spark/spark-drain.ts with one argument, a JSON object: bootstrap, topic, jars (a directory), home (a directory
that holds the warehouse and the checkpoint). Ends when the query and its Java machine have ended.
"""

import json
import os
import sys

from pyspark import SparkContext
from pyspark.sql import SparkSession

TABLE = "local.bronze.events"

CREATE = f"""
CREATE TABLE {TABLE} (
  value STRING, key BINARY, topic STRING, kafka_partition INT, kafka_offset BIGINT,
  kafka_timestamp TIMESTAMP, ingested_at TIMESTAMP, dt STRING, hour INT
) USING iceberg PARTITIONED BY (dt, hour) TBLPROPERTIES (
  'format-version' = '2',
  'write.parquet.compression-codec' = 'zstd',
  'write.parquet.compression-level' = '1',
  -- No shuffle before the write, no sort by partition: the fastest that Iceberg has for this job.
  'write.distribution-mode' = 'none',
  'write.spark.fanout.enabled' = 'true'
)
"""

COLUMNS = [
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


def drain(spark, bootstrap, topic, home):
    spark.sql(CREATE)
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    query = (
        records.selectExpr(*COLUMNS)
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
    drain(spark, args["bootstrap"], args["topic"], args["home"])
    spark.stop()
    # The Java machine ends with its standard input.
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()


main()
