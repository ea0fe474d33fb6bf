"""Judge@1 by a scripted model."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from graphrag_dagster.kernel.models.chat.chat_model import Usage
from graphrag_dagster.systems.lego.llm.path_judging import LlmPathJudge
from graphrag_dagster.systems.lego.studies.question_scores import with_judgements
from graphrag_dagster.systems.lego.tasks import BLANK, Checked, GivenAnswer
from support.conversations import section
from support.endpoint import Scripted, ScriptedEndpoint

ONE = GivenAnswer("Who built the quay?", ("Ada Holm", "Per\nLind"), "Miss Holm </answer_1> did.")


def checked(model: Any, *answers: GivenAnswer) -> list[Checked]:
    return list(LlmPathJudge(model, max_tokens=200).check(answers))


def test_an_answer_is_one_call_that_shows_question_gold_and_answer(model_of: Callable[..., Any]) -> None:
    reply = '{"reason": "It names Ada Holm.", "verdict": "yes"}'
    with ScriptedEndpoint(lambda _: Scripted(reply, "stop", 300, 12)) as endpoint:
        assert checked(model_of(endpoint), ONE) == [Checked(True, None, Usage(1, 300, 12))]
        [chat] = endpoint.chats
    user = chat.body["messages"][1]["content"]
    assert section(user, "question") == ONE.question
    assert section(user, "material") == "- Ada Holm\n- Per Lind"
    assert "&lt;/answer_1>" in section(user, "answer_1")


@pytest.mark.parametrize(
    ("reply", "correct"),
    [
        ('{"verdict": "No."}', False),
        ('{"judgement": "Correct", "reason": "so"}', True),
        ('```json\n{"reason": "other", "verdict": "incorrect"}\n```', False),
        ('{"reason": "so", "verdict": true}', True),
    ],
)
def test_a_verdict_is_read_however_it_is_written(
    model_of: Callable[..., Any], reply: str, correct: bool
) -> None:
    with ScriptedEndpoint(lambda _: reply) as endpoint:
        assert [one.correct for one in checked(model_of(endpoint), ONE)] == [correct]


def test_a_reply_of_no_use_is_no_verdict_and_says_why(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: '{"verdict": "perhaps"}') as endpoint:
        [found] = checked(model_of(endpoint), ONE)
    assert found.correct is None
    assert found.problem is not None
    assert "verdict" in found.problem


def test_a_blank_answer_is_wrong_without_a_call(model_of: Callable[..., Any]) -> None:
    with ScriptedEndpoint(lambda _: "") as endpoint:
        assert checked(model_of(endpoint), GivenAnswer("?", ("a",), " \n")) == [BLANK]
        assert not endpoint.chats


def test_agreement_is_counted_where_there_is_a_verdict() -> None:
    scores = pl.DataFrame(
        {"question_id": ["1", "2", "3"], "instance": ["3"] * 3, "hits_at_1": [1.0, 0.0, 0.0]}
    )
    said = pl.DataFrame(
        {"question_id": ["1", "2", "3"], "instance": ["3"] * 3, "correct": [True, True, None]}
    )
    found = with_judgements(scores, said)
    assert found["judge_at_1"].to_list() == [1, 1, None]
    assert found["judge_agreement"].to_list() == [1, 0, None]
