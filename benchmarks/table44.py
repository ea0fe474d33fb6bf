"""CoTeRAG-S, the same without communities, and a model alone, by the four metrics of the paper's Table 4.4.

    python benchmarks/table44.py [--base-url URL --model NAME] [--documents 10]

Articles of COVID-QA are indexed without a model; a model writes three questions with reference answers from
each of ten, answers them in three ways and judges the answers. Without ``--base-url`` that model is the
scripted endpoint of the tests, which answers by pattern: its column shows that everything runs and is
counted, and says nothing of quality.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import polars as pl
from articles import articles
from homes import BIN, environment
from measuring import interval, table

from graphrag_dagster.apps.evaluation.tables import QUALITY_SCORES
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.serve import ServedEndpoint

NAME = "articles"
METHODS = ("coterag", "coterag-no-communities", "own-context")
#: As the paper prints them, n = 30.
PRINTED = {
    "answer_relevancy": (0.93, 0.72, 0.94),
    "faithfulness": (0.60, 0.53, 0.89),
    "contextual_recall": (0.66, 0.34, 0.32),
    "contextual_precision": (0.77, 0.50, 0.67),
}
SETTINGS = """
text_units: {{strategy: characters}}
coterag: {{profile: calibrated, engine: llm}}
search: {{engine: llm}}
questions:
  engine: llm
  methods: [{methods}]
  testset: {{enabled: true, documents: {documents}}}
evaluation: {{engine: llm, baseline: coterag, metrics: [deepeval]}}
claims: {{enabled: false}}
model: {{base_url: "{url}", name: "{model}"}}
"""


def evaluated(home: Path, url: str, model: str, documents: int) -> None:
    """Index and evaluate in a fresh home."""
    folder = home / "corpora" / NAME
    folder.mkdir(parents=True)
    for file, text in sorted(articles()[0].items())[:documents]:
        (folder / file).write_text(text, encoding="utf-8")
    settings = SETTINGS.format(methods=", ".join(METHODS), documents=documents, url=url, model=model)
    (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
    for command in (("index", NAME), ("evaluate", NAME)):
        done = subprocess.run(
            [BIN / "graphrag-dagster", *command, *(["--json"] if command[0] == "evaluate" else [])],
            env=environment(home),
            capture_output=True,
            text=True,
        )
        if done.returncode not in {0, 3}:
            raise SystemExit(done.stderr[-2000:])
    print(json.dumps({"missing": json.loads(done.stdout)["missing"]}))


def measured(home: Path) -> Mapping[tuple[str, str], list[float]]:
    """The values of each metric by method."""
    warehouse = Warehouse(path=str(home / "warehouse" / "{corpus}.duckdb"))
    methods = warehouse.read(tables.ANSWERS, NAME).select("answer_id", "method", "refused")
    print(methods.group_by("method").agg(questions=pl.len(), refused=pl.col("refused").sum()).sort("method"))
    scores = warehouse.read(QUALITY_SCORES, NAME).filter(family="deepeval").drop_nulls("value")
    found = scores.join(methods, on="answer_id").group_by("metric", "method").agg("value")
    return {(metric, method): values for metric, method, values in found.iter_rows()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--documents", type=int, default=10)
    given = parser.parse_args()
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = given.base_url or stack.enter_context(ServedEndpoint()).url
        evaluated(home, url, given.model, given.documents)
        values = measured(home)
    who = given.model if given.base_url else "scripted: plumbing, no quality"
    rows = []
    for metric, printed in PRINTED.items():
        for method, value in zip(METHODS, printed, strict=True):
            own = values.get((metric, method), [])
            rows.append([metric, method, f"{value:.2f}", interval(own) if own else "none"])
    table(["metric", "method", "paper", f"here ({who})"], rows)


if __name__ == "__main__":
    main()
