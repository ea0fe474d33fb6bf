"""A system of another package that brings SQL models of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.plugins import install

REPOSITORY = Path(__file__).parents[2]
SYSTEM = """
from graphrag_dagster.kernel.catalogue.system import Stage, System

SYSTEM = System(
    "sizes",
    "sizes",
    tables=("sizes.tables:TABLES",),
    stages=(Stage("sizes", version=1, reads=("corpus",)),),
    pipeline="sizes.pipeline:STEPS",
)
"""
TABLES = """
from graphrag_dagster.kernel.tables.table_declaration import Table, column

DOCUMENT_SIZES = Table(
    "sizes",
    "document_sizes",
    "sizes",
    "Tokens of each document",
    ("document_id",),
    (column("document_id", "VARCHAR", "The document"), column("tokens", "BIGINT", "Its tokens")),
    sql=True,
)
TABLES = (DOCUMENT_SIZES,)
"""
PIPELINE = """
from sizes.tables import DOCUMENT_SIZES

from graphrag_dagster.kernel.pipeline.step_declaration import Step, by_queries
from graphrag_dagster.kernel.tables.core_tables import TEXT_CHUNKS

STEPS = (Step("sizes", by_queries, assets={DOCUMENT_SIZES: (TEXT_CHUNKS,)}),)
"""
MODEL = """
select document_id, sum(tokens)::bigint as tokens
from {{ ref('corpus.text_chunks') }}
group by document_id
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    site, folder = tmp_path / "site", tmp_path / "corpora" / "coast"
    models = site / "sizes" / "models" / "sizes"
    models.mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "letter.txt").write_text("The lighthouse keeper is Ada Holm.\n", encoding="utf-8")
    (folder / "log.txt").write_text("Ada Holm guards the lighthouse of Port Brenna.\n", encoding="utf-8")
    (models / "document_sizes.sql").write_text(MODEL, encoding="utf-8")
    install(
        site,
        {
            "sizes/__init__.py": "",
            "sizes/system.py": SYSTEM,
            "sizes/tables.py": TABLES,
            "sizes/pipeline.py": PIPELINE,
        },
        {"sizes": "sizes.system:SYSTEM"},
        name="sizes",
    )
    homes = {"GRAPHRAG_DAGSTER_HOME": str(tmp_path), "GRAPHRAG_DAGSTER_CORPORA": str(tmp_path / "corpora")}
    return {**os.environ, **homes, "PYTHONPATH": os.pathsep.join([str(site), str(REPOSITORY)])}


def run(environment: dict[str, str], code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_models_make_their_tables_and_their_columns_are_traced(environment: dict[str, str]) -> None:
    command = "from graphrag_dagster.cli import main; main()"
    run(environment, command, "index", "coast")
    query = "select count(*) as n, min(tokens) > 0 as counted from sizes.document_sizes"
    assert json.loads(run(environment, command, "sql", "coast", query, "--json")) == [
        {"n": 2, "counted": True}
    ]
    lineage = (
        "import json\n"
        "from graphrag_dagster.dbt_like_sql.loader import our_models\n"
        "(model,) = (one for one in our_models() if one.table.schema == 'sizes')\n"
        "print(json.dumps(model.lineage))"
    )
    assert json.loads(run(environment, lineage)) == {
        "document_id": [["corpus.text_chunks", "document_id"]],
        "tokens": [["corpus.text_chunks", "tokens"]],
    }


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (MODEL.replace("tokens)", "token)"), ["document_sizes.sql:2", "token"]),
        (MODEL.replace("corpus.text_chunks", "corpus.chunks"), ["document_sizes.sql:3", "corpus.chunks"]),
        (None, ["no model makes sizes.document_sizes", "write sizes/document_sizes.sql"]),
    ],
)
def test_a_wrong_model_of_a_system_is_named(
    environment: dict[str, str], tmp_path: Path, model: str | None, words: list[str]
) -> None:
    file = tmp_path / "site" / "sizes" / "models" / "sizes" / "document_sizes.sql"
    file.unlink() if model is None else file.write_text(model, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "import graphrag_dagster.definitions"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode
    for word in words:
        assert word in done.stderr
