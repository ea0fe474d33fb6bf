from pathlib import Path

import pytest

from graphrag_dagster import Index
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.packaged_cross_encoder import packaged_cross_encoder
from graphrag_dagster.kernel.retrieval.packaged_reranker import PackagedReranker, stages, titled_passage
from graphrag_dagster.kernel.retrieval.rerankers import LexicalReranker
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from graphrag_dagster.kernel.tasks.answering_ports import Sought
from support.commands import Run
from support.traces import column

SOUGHT = Sought("Who dredged the harbour?")
IDLE = "Nobody could say when the weather would turn, and the gulls went on as they always had. " * 9
ANSWER = "Selma Dray dredged the harbour with two boats."
QUESTION = "Who led the Dockers Union?"


def test_the_passage_of_a_text_unit_that_matches_best_counts(packaged: None) -> None:
    reranker = PackagedReranker(packaged_cross_encoder())
    texts = [f"Minutes\n{IDLE}", f"Minutes\n{IDLE}{ANSWER} {IDLE}", "Minutes\nBread is baked at night."]
    scores = reranker.scores(SOUGHT, texts)
    assert scores.argmax() == 1
    for text, score in zip(texts, scores.tolist(), strict=True):
        assert reranker.scores(SOUGHT, [text]).tolist() == [score]
    assert reranker.scores(SOUGHT, []).shape == (0,)


def test_passages_are_read_below_the_title_of_their_document(packaged: None) -> None:
    encoder = packaged_cross_encoder()
    [score] = PackagedReranker(encoder).scores(SOUGHT, [f"Minutes of 1902\n{ANSWER}"])
    assert score == encoder.scores(SOUGHT.question, [f"Minutes of 1902. {ANSWER}"]).item()
    assert titled_passage("", "Bread.") == "Bread."
    assert titled_passage("Bread", "Bread is baked.") == "Bread is baked."


def test_it_scores_the_first_units_of_the_order_by_words(packaged: None) -> None:
    reranker = PackagedReranker(packaged_cross_encoder())
    [(words, first), (model, most)] = stages(reranker, 60)
    assert (type(words), first, model, most) == (LexicalReranker, 60, reranker, 20)
    assert stages(reranker, 5)[1] == (reranker, 5)
    assert [type(one) for one, _ in stages(reranker, 60, asked_once=False)] == [LexicalReranker]
    assert [first for _, first in stages(LexicalReranker(), 60)] == [60]
    assert stages(None, 60) == []


def test_it_is_the_default_where_it_is_installed(packaged: None) -> None:
    assert SearchSettings().chosen_reranker == "cross-encoder"
    assert SearchSettings(reranker="none").chosen_reranker == "none"


def test_the_default_of_the_base_installation_goes_by_words() -> None:
    assert SearchSettings().chosen_reranker == "lexical"


@pytest.mark.parametrize("method", ["basic", "local", "auto"])
def test_an_answer_is_ordered_by_it_unless_the_settings_say_otherwise(
    packaged: None, coast: Path, method: str
) -> None:
    name = PackagedReranker(packaged_cross_encoder()).name
    assert name == "cross-encoder/packaged@b92ac67c"
    made = Index.open("coast").ask(QUESTION, method=method)
    assert name in column(made, "Reranked", "reranker")
    again = Index.open("coast").ask(QUESTION, method=method)
    assert (again.text, again.trace) == (made.text, made.trace)
    (coast / "corpus.yaml").write_text("search: {reranker: none}\n", encoding="utf-8")
    assert Index.open("coast").ask(QUESTION, method=method).section("Reranked") is None


def test_doctor_tells_whether_it_works(packaged: None, coast: Path, run: Run) -> None:
    code, out, _ = run("doctor", "coast")
    assert (code, "packaged@b92ac67c" in out) == (0, True)


def test_a_setting_that_needs_the_package_says_what_to_install(coast: Path) -> None:
    (coast / "corpus.yaml").write_text("search: {reranker: cross-encoder, method: local}\n", encoding="utf-8")
    with pytest.raises(EngineError, match="cross-encoder is not installed; run: pip install"):
        Index.open("coast").ask(QUESTION)
