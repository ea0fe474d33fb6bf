"""Claims of real answers, against the sentences and claims that people chose."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.apps.evaluation.extractive import ExtractiveClaimDecomposer
from graphrag_dagster.apps.evaluation.llm.claim_decomposition import LlmClaimDecomposer
from graphrag_dagster.apps.evaluation.tasks import AnswerText
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.text.statement_reading import answer_sentences
from support.endpoint import ScriptedEndpoint
from support.scripted_decomposing import decomposing_reply

Row = dict[str, Any]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    shared = Path(__file__).parents[4] / "../shared/data/claims_factcheckgpt/factcheck-GPT-benchmark.jsonl"
    if not shared.is_file():
        pytest.skip("the real data sets are not here")
    return [json.loads(line) for line in shared.read_text(encoding="utf-8").splitlines()]


def test_sentences_are_chosen_much_as_people_did(rows: list[Row]) -> None:
    sentences = [one for row in rows for one in row["sentences"].values()]
    found = ExtractiveClaimDecomposer().decompose([AnswerText("", one["text"]) for one in sentences])
    ours = [any(each.claims for each in several) for several in found]
    wanted = [one["sentence_checkworthiness"] == "yes" for one in sentences]
    assert len(wanted) == 311
    both = sum(one and other for one, other in zip(ours, wanted, strict=True))
    assert 2 * both / (sum(ours) + sum(wanted)) > 0.94


def test_nothing_of_an_answer_is_lost(rows: list[Row]) -> None:
    answers = [AnswerText(row["prompt"], row["response"]) for row in rows[:20]]
    for answer, found in zip(answers, ExtractiveClaimDecomposer().decompose(answers), strict=True):
        assert [each.sentence for each in found] == [one.text for one in answer_sentences(answer.text)]
        assert all(each.claims or each.reason for each in found)


@pytest.fixture
def model() -> Iterator[tuple[OpenAIChatModel, ScriptedEndpoint]]:
    with ScriptedEndpoint(lambda body: decomposing_reply(body) or "") as endpoint:
        yield OpenAIChatModel(ModelSettings(base_url=endpoint.url, name="scripted")), endpoint


def test_real_answers_go_through_all_steps_of_a_model(
    rows: list[Row], model: tuple[OpenAIChatModel, ScriptedEndpoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat, endpoint = model
    answers = [AnswerText(row["prompt"], row["response"]) for row in rows[:6]]
    found = list(LlmClaimDecomposer(chat).decompose(answers))
    for answer, each in zip(answers, found, strict=True):
        assert [one.sentence for one in each] == [one.text for one in answer_sentences(answer.text)]
    flat = [one for each in found for one in each]
    assert {one.state for one in flat} >= {"kept", "rewritten"}
    assert not [one for one in flat if one.state == "failed"]
    assert sum(one.usage.calls for one in flat) == len(endpoint.chats)
    assert any(len(one.claims) > 1 for one in flat)
