"""What Spark's from_json makes of documents: fills the `rows` of the cases that json-spark-rows.jsonl holds, in place.

Run by hand with the PySpark of services/spark/requirements.txt when cases are added or Spark's version moves:
    python json-spark-rows.py json-spark-rows.jsonl
A case: `ddl` (Spark's schema), `timeZone`, `documents` (texts, or `{"hex": ...}` where they are no UTF-8), and `rows`: per
document Spark's to_json of the struct, or null for a NULL struct.
"""

import json
import sys

from pyspark.sql import SparkSession

TO_JSON = """to_json(s, map('ignoreNullFields', 'false',
    'timestampFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    'timestampNTZFormat', "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    'dateFormat', 'yyyy-MM-dd')) as j"""


def document_bytes(document):
    return bytearray(document.encode() if isinstance(document, str) else bytes.fromhex(document["hex"]))


def main(path):
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    spark.sparkContext.setLogLevel("ERROR")
    with open(path, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    for case in cases:
        documents = [(i, document_bytes(d)) for i, d in enumerate(case["documents"])]
        frame = spark.createDataFrame(documents, "i int, v binary").coalesce(1)
        ddl = case["ddl"].replace("'", "\\'")
        options = f"map('timeZone', '{case['timeZone']}')"
        structs = frame.selectExpr("i", f"from_json(cast(v as string), '{ddl}', {options}) as s")
        case["rows"] = [row.j for row in structs.selectExpr("i", TO_JSON).orderBy("i").collect()]
        case["spark"] = spark.version
    with open(path, "w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
