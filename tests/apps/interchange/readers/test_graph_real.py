"""Real triples: the knowledge graph of MetaQA, and what a model found in passages of MuSiQue."""

import json
import shutil
from pathlib import Path

import pytest

from support.graphs import read_folder
from support.shared import DATA

_METAQA = DATA / "metaqa" / "kb.txt"
_OPENIE = DATA / "hipporag" / "openie_musique_train_results_ner_gpt-3.5-turbo-1106_1890.json"


@pytest.mark.skipif(not _METAQA.is_file(), reason="the real data set is not there")
def test_the_graph_of_metaqa_is_read_whole(tmp_path: Path) -> None:
    shutil.copy(_METAQA, tmp_path)
    read = read_folder(tmp_path)
    assert read.account() == {("relations", "read"): 133_582}
    told = [(row["head_key"], row["label"], row["tail_key"]) for row in read.rows("relations")]
    lines = _METAQA.read_text(encoding="utf-8").splitlines()
    assert told == [tuple(cell.strip() for cell in line.split("|")) for line in lines]
    assert len(set(read.column("relations", "relation"))) == 9
    assert told[0][0] == "$"


@pytest.mark.skipif(not _OPENIE.is_file(), reason="the real data set is not there")
def test_triples_of_a_model_are_all_accounted_for(tmp_path: Path) -> None:
    documents = json.loads(_OPENIE.read_text(encoding="utf-8"))["docs"]
    triples = [triple for document in documents for triple in document["extracted_triples"]]
    lines = (json.dumps(dict(zip(("subject", "predicate", "object"), t, strict=False))) for t in triples)
    (tmp_path / "openie.jsonl").write_text("\n".join(lines))
    account = read_folder(tmp_path).account()
    assert sum(account.values()) == len(triples) == 17_419
    lacking = sum(len(t) < 3 or not str(t[0]).strip() or not str(t[2]).strip() for t in triples)
    assert account["relations", "malformed"] == lacking > 0
