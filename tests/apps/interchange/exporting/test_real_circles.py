"""Real triples come back from each form as they were: MetaQA's, and what a model found in MuSiQue."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from polars.testing import assert_frame_equal

from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.tables.import_tables import IMPORTED_ENTITIES, IMPORTED_RELATIONS
from support.circles import around, said, taken_in

_OPENIE = "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"

pytestmark = pytest.mark.long


@pytest.fixture(params=["metaqa", "musique"])
def graph(request: pytest.FixtureRequest, shared_data: Path, home: Path) -> str:
    """A corpus of one of them; gives its name."""
    folder = CorpusStore().path / "guest"
    folder.mkdir()
    if request.param == "metaqa":
        shutil.copy(shared_data / "metaqa" / "kb.txt", folder)
    else:
        documents = json.loads((shared_data / "hipporag" / _OPENIE).read_text(encoding="utf-8"))["docs"]
        triples = [one for document in documents for one in document["extracted_triples"]]
        names = ("subject", "predicate", "object")
        lines = (json.dumps(dict(zip(names, one, strict=False))) for one in triples)
        (folder / "openie.jsonl").write_text("\n".join(lines))
    taken_in(folder, "guest")
    return "guest"


@pytest.mark.parametrize("to", ["graphml", "neo4j", "triples"])
def test_statements_come_back(to: str, graph: str, home: Path) -> None:
    around(graph, to, home)
    # GraphML says of every edge whether it is directed; Neo4j has no relationship without a type.
    out = {"graphml": ["attributes"], "neo4j": ["label", "said"]}.get(to, [])
    before, after = (said(IMPORTED_RELATIONS, name, *out) for name in (graph, "again"))
    assert before.height > 17_000
    assert_frame_equal(after, before)
    assert said(IMPORTED_ENTITIES, "again").is_empty()


def test_statements_of_rdf_come_back(shared_data: Path, home: Path) -> None:
    lines = (shared_data / "metaqa" / "kb.txt").read_text(encoding="utf-8").splitlines()
    triples = {" ".join(f"<http://e.org/{quote(one)}>" for one in line.split("|")) + " ." for line in lines}
    folder = CorpusStore().path / "guest"
    folder.mkdir()
    (folder / "kb.nt").write_text("\n".join(sorted(triples)))
    taken_in(folder, "guest")
    made = around("guest", "rdf", home)
    assert set((made / "statements.nt").read_text(encoding="utf-8").splitlines()) == triples
