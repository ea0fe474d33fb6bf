"""Measures exports of large made-up graphs: rows a second and peak memory of every form.

    python benchmarks/graph_export.py [--triples N ...] [--to FORM ...]

A tenth as many entities as triples, a description of about 120 characters each; a text unit for twenty
triples, of about 400 characters; 300 relations. Each export runs in a process of its own; rows are all that
it writes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from graphrag_dagster import export
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables

CORPUS = "large"
FORMS = ("parquet", "neo4j", "graphml", "rdf")
TABLES = {
    tables.DOCUMENTS: """
        select md5('d' || i) as document_id, i::int as human_readable_id, i || '.txt' as path,
            null::int as row, null::varchar as source_id, 'Document ' || i as title, '' as text,
            0::int as characters, null::varchar as date, '{{}}' as metadata
        from range({units} // 10 + 1) as t(i)
    """,
    tables.TEXT_CHUNKS: """
        select md5('u' || i) as text_unit_id, i::int as human_readable_id, md5('d' || i // 10) as document_id,
            (i % 10)::int as position, 0::int as start_char, 400::int as end_char,
            repeat('Words of unit ' || i || ', "quoted" & plain. ', 10) as text, 90::int as tokens,
            'cl100k_base' as encoding, 'tokens' as strategy
        from range({units}) as t(i)
    """,
    tables.ENTITIES: """
        select md5('e' || i) as entity_id, i::int as human_readable_id, 'ENTITY ' || i as name,
            'Entity ' || i as title, ['Entity ' || i, 'E. ' || i] as names, 'PERSON' as type,
            repeat('Entity ' || i || ' did <something> there. ', 4) as description,
            'as_is' as description_engine, null::varchar as description_problem,
            0::int as description_repaired,
            [md5('u' || i % {units}), md5('u' || (i * 7 + 1) % {units})] as text_unit_ids,
            2::int as frequency, 2::int as instances, 20::int as degree
        from range({entities}) as t(i)
    """,
    tables.TRIPLES: """
        select md5('t' || i) as triple_id, i::int as human_readable_id, 'ENTITY ' || i % {entities} as head,
            'relation_' || i % 300 as relation, 'ENTITY ' || hash(i) % {entities} as tail,
            md5('e' || i % {entities}) as head_id, md5('e' || hash(i) % {entities}) as tail_id,
            [md5('u' || i % {units})] as text_unit_ids, 1::int as instances, 1.0::double as strength,
            md5('u' || i % {units}) as evidence_unit_id, 0::int as start_char, 40::int as end_char
        from range({triples}) as t(i)
    """,
}


def fill(triples: int) -> None:
    """Publish a made-up graph."""
    warehouse = Warehouse()
    sizes = {"triples": triples, "entities": triples // 10, "units": triples // 20}
    with warehouse.connect(CORPUS) as connection:
        connection.execute("set memory_limit = '2GB'")
        for table, query in TABLES.items():
            connection.execute(f"create schema if not exists {table.schema}")
            connection.execute(
                f"create table {table.full_name} as "
                f"select '{CORPUS}' as corpus, * from ({query.format(**sizes)})"
            )
    publish(warehouse, CORPUS)


def measure(form: str, out: Path) -> None:
    """Export in this process, and print what it took."""
    before, used = time.perf_counter(), time.process_time()
    made = export(CORPUS, form, out)
    seconds, processor = time.perf_counter() - before, time.process_time() - used
    rows = sum(one.rows or 0 for one in made.files)
    size = sum(one.bytes or 0 for one in made.files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    told = {"form": form, "rows": rows, "seconds": round(seconds, 1), "processor": round(processor, 1)}
    print(
        json.dumps(
            {
                **told,
                "rows_per_second": round(rows / seconds),
                "GB": round(size / 1e9, 2),
                "peak_GB": round(peak, 2),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triples", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--to", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--one", nargs=2, metavar=("FORM", "OUT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        measure(given.one[0], Path(given.one[1]))
        return
    for triples in given.triples:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["GRAPHRAG_DAGSTER_HOME"] = folder
            fill(triples)
            print(f"{triples:,} triples", flush=True)
            for form in given.to:
                out = Path(folder) / form
                subprocess.run([sys.executable, __file__, "--one", form, str(out)], check=True)
                subprocess.run(["rm", "-rf", str(out)], check=True)


if __name__ == "__main__":
    main()
