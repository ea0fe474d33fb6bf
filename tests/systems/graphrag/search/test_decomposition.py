"""Questions that a model splits into steps: what it is asked, what becomes of its replies, and of nonsense."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.systems.graphrag.search.decomposition import STEPS
from support.conversations import section
from support.endpoint import ScriptedEndpoint, name_pattern_script
from support.homes import copy_home
from support.modelled import write_modelled

QUESTION = "Where did the leader of the Dockers Union speak?"
SPLIT = ["Who led the Dockers Union?", "Where did #1 speak?"]
SPLITTING, STEPPING = "You split a question", "You look up the answer to one question"


class Splitter:
    """Splits, and answers steps, as it is told; the last reply to a prompt is given again."""

    def __init__(self) -> None:
        self.splits: list[str] = [json.dumps({"questions": SPLIT})]
        self.answers: list[str] = ['{"answer": "Hanna Quill."}', '{"answer": "Coal Quay"}']
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Any:
        system = body["messages"][0]["content"]
        known = {SPLITTING: self.splits, STEPPING: self.answers}
        replies = next((of for begins, of in known.items() if system.startswith(begins)), None)
        if replies is None:
            return name_pattern_script(body)
        self.bodies.append(body)
        self.asked.append(section(body["messages"][1]["content"], "question") or "")
        return replies.pop(0) if replies[1:] else replies[0]


@pytest.fixture
def splitter() -> Splitter:
    return Splitter()


@pytest.fixture
def endpoint(splitter: Splitter) -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(splitter) as server:
        yield server


@pytest.fixture
def opened(modelled_home: Path, home: Path, endpoint: ScriptedEndpoint) -> Callable[..., Index]:
    """Opens the corpus that a model indexed, with more of the section search."""
    copy_home(modelled_home, home)

    def opened(search: str = "decompose: on") -> Index:
        tasks = "  tasks: {decompose: {name: larger}}\n"
        write_modelled(home / "corpora", endpoint, f"{tasks}search: {{{search}}}\n")
        return Index.open("coast")

    return opened


@pytest.mark.parametrize("method", ["basic", "local", "auto"])
def test_steps_are_asked_in_turn_with_the_answers_filled_in(
    opened: Callable[..., Index], splitter: Splitter, method: str
) -> None:
    answer = opened().ask(QUESTION, method=method)
    assert splitter.asked == [QUESTION, SPLIT[0], "Where did Hanna Quill speak?"]
    assert {body["model"] for body in splitter.bodies} == {"larger"}
    assert [(call.task, call.used) for call in answer.steps[:3]] == [
        ("decompose", True),
        ("step", True),
        ("step", True),
    ]
    assert answer.usage.calls == answer.calls
    assert "split into 2 steps" in (answer.why or "")
    told = answer.section(STEPS)
    assert told
    assert told.rows == (
        (SPLIT[0], "Hanna Quill", None),
        ("Where did Hanna Quill speak?", "Coal Quay", None),
    )
    assert not answer.refused


def test_the_context_is_what_was_found_for_the_question_and_its_steps_within_the_budget(
    opened: Callable[..., Index], splitter: Splitter
) -> None:
    plain = opened("context_tokens: 200").ask(QUESTION, method="basic")
    assert splitter.bodies == []
    split = opened("context_tokens: 200, decompose: on").ask(QUESTION, method="basic")
    first, second = ([use.record_id for use in one.context] for one in (plain, split))
    assert first[0] == second[0]
    assert set(first) != set(second)
    assert len(set(second)) == len(second)
    assert sum(use.tokens for use in split.context) <= 200


def test_replies_are_remembered_and_booked(opened: Callable[..., Index], splitter: Splitter) -> None:
    index = opened()
    first, again = (index.ask(QUESTION, method="local") for _ in range(2))
    assert len(splitter.bodies) == 3
    assert (first.text, first.usage) == (again.text, again.usage)
    booked = LLMCache().usage_log().table("coast").filter(pl.col("task").str.starts_with("decompose"))
    assert set(booked["task"]) == {"decompose", "decompose_step"}
    assert (booked["calls"].sum(), booked["cached"].sum()) == (3, 3)


def test_a_question_that_needs_no_steps_is_answered_as_ever(
    opened: Callable[..., Index], splitter: Splitter
) -> None:
    splitter.splits = ['{"questions": []}']
    answer = opened().ask(QUESTION, method="local")
    plain = opened("decompose: off").ask(QUESTION, method="local")
    assert (answer.text, answer.context) == (plain.text, plain.context)
    assert (answer.steps[0].task, answer.steps[0].used) == ("decompose", False)
    assert "not split into steps" in (answer.why or "")
    assert answer.section(STEPS) is None


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("I cannot.", "no JSON"),
        (json.dumps({"questions": [QUESTION.upper(), "Who was it?"]}), "question 1 is the question itself"),
        (
            '{"questions": ["Who led the union?", "Where was she born?"]}',
            'question 2 says "she"; write # and the',
        ),
        ('{"questions": ["Who led it?", "Who lives in that town?"]}', 'says "in that town"'),
        ('{"questions": "Who led it?"}', "must be a list of questions"),
        ('{"questions": ["Where did #2 speak?", "Who led the union?"]}', "question 1 refers to #2"),
        (
            '{"questions": ["Who is the baker of Velm?", "Which mill did #1 found?"]}',
            "copied from the example",
        ),
    ],
)
def test_a_split_of_no_use_is_asked_for_again_then_left_out_with_its_reason(
    opened: Callable[..., Index], splitter: Splitter, reply: str, problem: str
) -> None:
    splitter.splits = [reply]
    answer = opened().ask(QUESTION, method="local")
    assert len(splitter.bodies) > 1
    assert answer.problems[0].startswith("decompose: ")
    assert problem in answer.problems[0]
    assert not answer.refused


def test_a_damaged_split_is_mended(opened: Callable[..., Index], splitter: Splitter) -> None:
    numbered = [
        {"question": f"{n}. {one}"}
        for n, one in enumerate([*SPLIT, *(f"Who spoke {n}?" for n in "abcde")], 1)
    ]
    splitter.splits = [f"```json\n{json.dumps({'Sub-questions': numbered})[:-1]},}}\n```"]
    answer = opened().ask(QUESTION, method="local")
    assert splitter.asked[1:3] == [SPLIT[0], "Where did Hanna Quill speak?"]
    assert len(splitter.asked) == 5
    assert answer.usage.repaired == 1


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ('{"answer": ""}', None),
        ('{"answer": "Not stated."}', None),
        (json.dumps({"answer": "so " * 90}), "269 characters"),
    ],
)
def test_a_step_without_an_answer_leaves_out_those_that_need_it(
    opened: Callable[..., Index], splitter: Splitter, reply: str, problem: str | None
) -> None:
    splitter.answers = [reply]
    answer = opened().ask(QUESTION, method="basic")
    told = answer.section(STEPS)
    assert told
    assert told.column("problem")[1] == "not asked, since #1 has no answer"
    assert (problem or "") in (told.column("problem")[0] or "")
    assert bool(problem) == any(one.startswith("step: ") for one in answer.problems)
    assert not answer.refused


def test_an_engine_without_a_model_leaves_questions_whole_and_says_so(
    opened: Callable[..., Index], splitter: Splitter
) -> None:
    answer = opened("decompose: on, engine: extractive").ask(QUESTION, method="local")
    assert "not split into steps (search.decompose), since the engine of search asks no model" in (
        answer.why or ""
    )
    assert splitter.bodies == []


def test_the_calls_of_steps_are_estimated(opened: Callable[..., Index]) -> None:
    plain, split = (opened(f"decompose: {one}").searcher for one in ("off", "on"))
    for method in ("basic", "local", "auto"):
        before, after = plain.size(method), split.size(method)
        assert after.calls.expected == before.calls.expected + 3
        assert after.input_tokens.high > before.input_tokens.high
    assert plain.size("SS") == split.size("SS")
