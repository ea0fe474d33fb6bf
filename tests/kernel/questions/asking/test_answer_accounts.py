"""What an answer says that it took of a model is what the endpoint counted and what the account says."""

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.kernel.catalogue.registry import methods
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.context.answer import Answer
from support.conversations import asked_of, text_of
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.faults import canonical
from support.homes import copy_home
from support.probes import probe_reply

PARTICULAR, WHOLE = "Who led the Dockers Union?", "What are the main themes?"
#: Each method asks a model for all that it can ask one for; instance 9 has paths pruned and judged by one.
SETTINGS = """
model: {base_url: "URL", name: scripted, retries: 4}
search: {engine: llm, routing: model, sql: model, support: model}
coterag: {profile: calibrated, engine: llm, fallback: {support: true, support_below: 0.99}}
paths: {engine: llm, answering: "9"}
"""
#: One of each kind: conditions and ablations answer by the same functions.
METHODS = [one.name for one in methods().values() if not one.condition and not one.without] + ["TS"]


@pytest.fixture
def asked(coterag_home: Path, home: Path) -> Callable[[ScriptedEndpoint, str, str], Answer]:
    """Asks the corpus by the model of an endpoint."""
    copy_home(coterag_home, home)

    def ask(endpoint: ScriptedEndpoint, question: str, method: str) -> Answer:
        (home / "corpora" / "coast" / "corpus.yaml").write_text(SETTINGS.replace("URL", endpoint.url))
        return Index.open("coast").ask(question, method=method)

    return ask


def booked(*, questions: bool) -> dict[str, int]:
    """What the account says, or what it says of questions: what a model can do is found out once for all."""
    rows = LLMCache().usage_log().table("coast")
    names = ("calls", "failed", "cached", "input_tokens", "output_tokens", "saved_tokens")
    asked = rows.filter(pl.col("task") != "probe") if questions else rows
    return {name: int(asked[name].sum()) for name in names}


def assert_accounts(answer: Answer, endpoint: ScriptedEndpoint) -> None:
    answered = [one for one in endpoint.chats if one.answered]
    every, use, told = booked(questions=False), booked(questions=True), answer.usage
    assert every["calls"] == len(answered)
    assert every["input_tokens"] == sum(one.input_tokens for one in answered)
    assert every["output_tokens"] == sum(one.output_tokens for one in answered)
    # Replies from memory count as they did when they came.
    assert told.calls == use["calls"] + use["failed"] + use["cached"] > 0
    assert told.input_tokens + told.output_tokens == sum(
        use[name] for name in ("input_tokens", "output_tokens", "saved_tokens")
    )


def every_prompt_fails_first() -> Callable[[int, dict[str, Any]], Fault | None]:
    kinds = cycle([Fault(empty=True), Fault(500), Fault(length=True), Fault(malformed=True), Fault(cut=True)])
    seen: set[str] = set()

    def fault(_: int, body: dict[str, Any]) -> Fault | None:
        digest = canonical({"messages": body["messages"]})
        if digest in seen or probe_reply({**body, "response_format": None}):
            return None
        seen.add(digest)
        return next(kinds)

    return fault


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("question", [PARTICULAR, WHOLE])
def test_an_answer_accounts_for_replies_that_could_not_be_used(
    asked: Callable[[ScriptedEndpoint, str, str], Answer], method: str, question: str
) -> None:
    with ScriptedEndpoint(faults=every_prompt_fails_first()) as endpoint:
        answer = asked(endpoint, question, method)
        assert_accounts(answer, endpoint)


@pytest.mark.parametrize("helpless", [{"local"}, {"global"}, {"local", "global"}])
@pytest.mark.parametrize("first", ["local", "global"])
def test_a_second_method_keeps_the_calls_of_the_first_on_the_account(
    asked: Callable[[ScriptedEndpoint, str, str], Answer], first: str, helpless: set[str]
) -> None:
    def script(body: dict[str, Any]) -> Scripted | str:
        task = asked_of(body).task
        if text_of(body["messages"][0]).startswith("You choose how to answer a question"):
            return json.dumps({"reason": "told so", "method": first})
        if "<material>" in text_of(body["messages"][-1]) and "local" in helpless:
            return "NOTHING"
        if task == "global_map" and "global" in helpless:
            return json.dumps({"answer": "", "score": 0})
        return name_pattern_script(body)

    with ScriptedEndpoint(script) as endpoint:
        answer = asked(endpoint, PARTICULAR, "auto")
        assert_accounts(answer, endpoint)
    both = first in helpless
    assert {"answer", "map"} <= {one.task for one in answer.steps} or not both
    assert answer.refused == (helpless == {"local", "global"})
