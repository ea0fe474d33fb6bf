"""Judges of known favour, asked over HTTP about whole plans: what they favour is what the figures show."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.apps.evaluation.llm.answer_judges import LlmAnswerJudge
from graphrag_dagster.apps.evaluation.measures.pairwise_judging import (
    answer_pairs,
    comparisons,
    judgement_rows,
    position_bias,
)
from graphrag_dagster.apps.evaluation.tasks import Criterion
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import ScriptedEndpoint
from support.scripted_judges import first_judge, longer_judge, random_judge

QUESTIONS = {f"q{n}": f"What happened in year {n}?" for n in range(125)}
LENGTHS = {"C0": 3, "TS": 2, "SS": 1}
ANSWERS = {
    (question, condition): " ".join(f"{condition} tells of {question}." for _ in range(length))
    for question in QUESTIONS
    for condition, length in LENGTHS.items()
}


@pytest.mark.parametrize(
    ("given", "verdicts", "others"),
    [
        ({}, 0.7, 0.0),
        ({"temperature": 0}, 0.0, 0.0),
        ({"temperature": 0.3}, 0.3, 0.3),
        ({"tasks": {"judge": {"temperature": 1.0}}}, 1.0, 0.0),
        ({"temperature": 0.3, "tasks": {"judge": {"name": "other"}}}, 0.3, 0.3),
    ],
)
def test_verdicts_vary_unless_a_temperature_is_given(
    given: dict[str, Any], verdicts: float, others: float
) -> None:
    settings = ModelSettings.model_validate(given)
    assert settings.verdict_temperature == verdicts
    assert settings.for_role("answer").temperature == others


def run(
    monkeypatch: pytest.MonkeyPatch,
    script: Callable[[dict[str, Any]], Any],
    criterion: Criterion,
    questions: int = 60,
) -> pl.DataFrame:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    plan = comparisons(list(QUESTIONS)[:questions], list(LENGTHS), [criterion], 5)
    with ScriptedEndpoint(script) as endpoint:
        settings = ModelSettings(base_url=endpoint.url, name="gpt-4.1-mini", timeout_seconds=30.0)
        judge = LlmAnswerJudge(OpenAIChatModel(settings, first_wait=0.01))
        rows = judgement_rows(plan, judge.judge(answer_pairs(plan, QUESTIONS, ANSWERS)), settings.name)
        assert len(endpoint.chats) == len(plan) == len(rows)
    assert rows["problem"].null_count() == len(rows)
    return rows


def win_rates(judgements: pl.DataFrame) -> list[float]:
    """Of condition_a, by pair."""
    grouped = judgements.group_by("condition_a", "condition_b", maintain_order=True)
    return grouped.agg(pl.col("score_a").mean())["score_a"].to_list()


def overall(judgements: pl.DataFrame) -> dict[str, Any]:
    return position_bias(judgements).rows(named=True)[-1]


@pytest.mark.long
def test_a_judge_of_places_is_found_and_does_little_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    judgements = run(monkeypatch, first_judge, "directness")
    assert win_rates(judgements) == pytest.approx([50] * 3, abs=3)
    found = overall(judgements)
    assert (found["share"], found["judgements"], found["ties"]) == (1.0, 900, 0)
    assert found["ci_low"] > 0.99
    assert found["p"] < 1e-100


@pytest.mark.long
def test_a_judge_without_favour_gives_every_pair_a_half(monkeypatch: pytest.MonkeyPatch) -> None:
    judgements = run(monkeypatch, random_judge(), "comprehensiveness", questions=125)
    assert win_rates(judgements) == pytest.approx([50] * 3, abs=3)
    found = overall(judgements)
    assert found["ci_low"] < 0.5 < found["ci_high"]
    assert found["p"] > 0.05
    assert 0.15 < found["ties"] / found["judgements"] < 0.25


def test_a_judge_of_length_gives_the_longer_answer_every_point(monkeypatch: pytest.MonkeyPatch) -> None:
    judgements = run(monkeypatch, longer_judge, "diversity", questions=30)
    assert win_rates(judgements) == [100.0] * 3
    assert overall(judgements)["p"] > 0.05
    assert set(judgements["winner"]) == {"C0", "TS"}
