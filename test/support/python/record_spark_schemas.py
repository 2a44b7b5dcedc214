"""Records what Apache Spark makes of schemas, documents and lines: prints test/support/spark/schemas.jsonl.

Run by hand with the Python of the race against Spark (services/spark/requirements.txt), once per version of Spark:
  python record_spark_schemas.py > ../spark/schemas.jsonl
"""

import json
import random

from pyspark.sql import SparkSession
from pyspark.sql.functions import from_csv, col, to_json

DDL = [
    "a INT", "a int", "a Integer, b BIGINT, c long", "a BYTE, b TINYINT, c SHORT, d SMALLINT",
    "a FLOAT, b REAL, c DOUBLE", "a DECIMAL, b DEC(5), c NUMERIC(38, 38), d decimal ( 12 , 2 )",
    "a STRING, b VARCHAR(20), c CHAR(3), d CHARACTER(3)", "a STRING COLLATE UTF8_BINARY", "a BINARY, b BOOLEAN",
    "a DATE, b TIMESTAMP, c TIMESTAMP_NTZ, d TIMESTAMP_LTZ", "a TIMESTAMP WITHOUT TIME ZONE", "a TIME, b TIME(3)",
    "a ARRAY<INT>", "a array < array<int> >", "a MAP<STRING,INT>", "a MAP<STRING, ARRAY<STRUCT<x: INT>>>",
    "a STRUCT<x: INT, y STRING>", "a STRUCT<x: INT NOT NULL COMMENT 'c', `y z`: STRING> NOT NULL COMMENT 'd'",
    "a INT NOT NULL", "a INT COMMENT 'it''s'", "a INT COMMENT 'x' 'y'", 'a INT COMMENT "q\\"u\\u00e9\\101\\n\\t\\%\\_\\x"',
    "a INT COMMENT r'x\\ny'", "a INT COMMENT ''", "`a b` INT", "`a``b` INT", "`a.b` INT", "1a INT", "_ INT", "a1_ INT",
    "not INT, comment STRING, struct INT, array INT, date DATE, timestamp TIMESTAMP, null INT, default INT",
    "a INT -- c\n, b STRING", "a /* x /* y */ z */ INT", "\n a \t INT \n", "`\ud0a4` INT",
    # Refused by both.
    "", "a", "a INT,", ",a INT", "a INT b INT", "a INT NOT", "a INT NOT NULL NOT NULL", "a-b INT", "a.b INT", "123 INT",
    "1e5 INT", "\ud0a4 INT", "`a INT", "a INT COMMENT x", "a INT COMMENT 'x", "a BIGIN", "a DECIMAL(39)", "a DECIMAL(4,5)",
    "a DECIMAL(1,2,3)", "a INT(3)", "a ARRAY", "a ARRAY<>", "a MAP<INT>", "a MAP<INT,INT,INT>", "a STRUCT<x>",
    "a STRUCT<x INT", "a VARCHAR", "a INT;", "a DOUBLE PRECISION", "a TEXT", "a INT NULL", "a TIME(7)",
]


def ddl_cases(spark):
    struct = spark._jvm.org.apache.spark.sql.types.StructType
    for ddl in DDL:
        try:
            yield {"ddl": ddl, "json": json.loads(struct.fromDDL(ddl).json())}
        except Exception:
            yield {"ddl": ddl, "json": None}


SCALARS = [1, -7, 0, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**37, 10**40, 1.5, 1e300, True, False, "x", None]


def value(rng, depth):
    kind = rng.random()
    if depth == 0 or kind < 0.6:
        return rng.choice(SCALARS)
    if kind < 0.8:
        return [value(rng, depth - 1) for _ in range(rng.randrange(3))]
    return {rng.choice("abc"): value(rng, depth - 1) for _ in range(rng.randrange(3))}


def infer_cases(spark):
    rng = random.Random(7)
    sets = [
        [{"id": 1, "a": {}, "b": [], "c": None, "d": [None], "e": {"f": None}}],
        [{"id": 1, "a": {}, "b": [], "c": None}, {"id": 2, "a": {"x": 1}, "b": [3], "c": "q"}],
        # A text of no length stands for null; alone Spark drops it with the nulls, where Sluice makes it a string.
        [{"a": "", "b": "", "c": ["", 1], "d": ""}, {"a": 5, "b": {"x": 1}, "d": "x"}],
    ] + [[{k: value(rng, 3) for k in "abc"[: rng.randrange(1, 4)]} for _ in range(rng.randrange(1, 4))] for _ in range(80)]
    for documents in sets:
        texts = [json.dumps(d) for d in documents]
        frame = spark.read.option("dropFieldIfAllNull", "true").option("mode", "FAILFAST").json(
            spark.sparkContext.parallelize(texts, 1)
        )
        yield {"documents": texts, "json": json.loads(frame.schema.json())}


CSV_SCHEMA = "a BIGINT, b STRING, c DOUBLE, d BOOLEAN, e DATE, f TIMESTAMP, g DECIMAL(10,2), _c STRING"
CSV_LINES = [
    "1,x,1.5,true,2026-07-14,2026-07-14T09:05:06.123456Z,1.25",
    ",,,,,,",
    '-9223372036854775808,"a,b",1e3,FALSE,1969-12-31,1969-12-31T23:59:59.999999Z,-99999999.99',
    '+5," x ",-0.0,false,0001-01-01,2026-07-14T09:05:06+05:30,0',
    '007,"say ""hi""",0.1,true,2026-02-28,2026-07-14T09:05:06.1-03:30,00.5',
    '1,"line\none",2,true,2026-01-01,2026-01-01T00:00:00Z,1',
    "1,\u00e9\u65e5,2,true,2026-01-01,2026-01-01T00:00:00Z,1",
    "x,y,1,true,2026-01-01,2026-01-01T00:00:00Z,1",
    "1,y,x,true,2026-01-01,2026-01-01T00:00:00Z,1",
    "1,y,1,maybe,2026-01-01,2026-01-01T00:00:00Z,1",
    "1,y,1,true,2026-02-30,2026-01-01T00:00:00Z,1",
    "1,y,1,true,2026-01-01,soon,1",
    "1,y,1,true,2026-01-01,2026-01-01T00:00:00Z,x",
    "9223372036854775808,y,1,true,2026-01-01,2026-01-01T00:00:00Z,1",
    "1,y",
    "1,y,1,true,2026-01-01,2026-01-01T00:00:00Z,1,2",
]


def csv_cases(spark):
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": "_c", "escape": '"', "timeZone": "UTC"}
    frame = spark.createDataFrame([(i, line) for i, line in enumerate(CSV_LINES)], "i INT, value STRING")
    parsed = frame.select("i", from_csv(col("value"), CSV_SCHEMA, options).alias("row"))
    rows = parsed.selectExpr(
        "i", "CAST(row.a AS STRING)", "row.b", "CAST(row.c AS STRING)", "row.d", "CAST(row.e AS STRING)",
        "unix_micros(row.f)", "CAST(row.g AS STRING)", "row._c",
    ).orderBy("i").collect()
    for line, row in zip(CSV_LINES, rows):
        yield {"line": line, "row": list(row)[1:]}


def main():
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    print(json.dumps({"kind": "spark", "version": spark.version, "csvSchema": CSV_SCHEMA}))
    for kind, cases in [("ddl", ddl_cases), ("infer", infer_cases), ("csv", csv_cases)]:
        for case in cases(spark):
            print(json.dumps({"kind": kind, **case}))


main()
