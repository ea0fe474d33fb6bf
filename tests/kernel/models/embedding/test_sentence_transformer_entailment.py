import importlib.util
from collections.abc import Sequence
from pathlib import Path

import pytest

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.questions.context.index_background import Support
from graphrag_dagster.kernel.tasks.answering_ports import Cited, SupportOf
from graphrag_dagster.kernel.tasks.support_by_entailment import EntailmentJudge
from support.cross_encoders import WORDS, saved_model

INSTALLED = bool(importlib.util.find_spec("sentence_transformers"))
needs_extra = pytest.mark.skipif(not INSTALLED, reason="an optional extra")
LABELS = ("contradiction", "entailment", "neutral")


def judged(folder: Path, *statements: str) -> tuple[SupportOf, ...]:
    cited = [Cited(one, (WORDS, "it stands at the harbour")) for one in statements]
    return Support(judge=EntailmentJudge(str(folder))).judged(cited).items


@needs_extra
@pytest.mark.parametrize(
    ("favourite", "verdict", "reason"),
    [
        ("entailment", "supported", ""),
        ("contradiction", "not", "the cited words contradict it"),
        ("neutral", "not", "the cited words leave it open"),
    ],
)
@pytest.mark.parametrize("labels", [LABELS, ("ENTAILMENT", "Neutral", "contradiction")])
def test_labels_are_read_from_the_models_config(
    tmp_path: Path, labels: Sequence[str], favourite: str, verdict: str, reason: str
) -> None:
    own = next(label for label in labels if label.lower() == favourite)
    [found] = judged(saved_model(tmp_path, labels, own), "the quay was built in wood")
    assert (found.verdict, found.reason) == (verdict, reason)
    assert found.score is not None
    assert (found.score > 0.9) == (favourite == "entailment")


@needs_extra
def test_a_verdict_depends_on_the_pair_alone_and_quotations_are_not_judged(tmp_path: Path) -> None:
    folder = saved_model(tmp_path, LABELS)
    together = judged(folder, "the quay was built in wood", WORDS, "not in stone")
    assert together[1] == SupportOf("supported", 1.0)
    assert judged(folder, "the quay was built in wood") == together[:1]
    assert judged(folder, "not in stone") == together[2:]


@needs_extra
def test_a_model_for_something_else_or_none_is_one_clear_error(tmp_path: Path) -> None:
    ranker = saved_model(tmp_path / "ranker", ("LABEL_0", "LABEL_1"))
    for folder, told in (
        (ranker, "has the labels label_0, label_1 and not entailment"),
        (tmp_path, "cannot be loaded"),
    ):
        with pytest.raises(EngineError, match=f"search.support_model .*{told}") as raised:
            judged(folder, "the quay was built in wood")
        assert "cross-encoder for natural language inference" in str(raised.value)


@pytest.mark.skipif(INSTALLED, reason="the extra is installed")
def test_a_missing_extra_says_which_setting_needs_it(tmp_path: Path) -> None:
    with pytest.raises(
        EngineError, match=r"search.support is nli, but .*graphrag-dagster\[sentence-transformers\]"
    ):
        judged(tmp_path, "the quay was built in wood")
