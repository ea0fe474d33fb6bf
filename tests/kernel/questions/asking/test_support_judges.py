import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from graphrag_dagster import Index
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from support.endpoint import Scripted, ScriptedEndpoint, name_pattern_script

QUESTION = "Who led the Dockers Union?"

Ask = Callable[..., tuple[Answer, list[dict[str, Any]]]]


@pytest.fixture
def ask(index: Index, tmp_path: Path) -> Ask:
    """Asks a model by way of ``basic``, with search settings, and a script of what it says of support."""

    def asked(script: Callable[[int], str], **search: Any) -> tuple[Answer, list[dict[str, Any]]]:
        judged: list[dict[str, Any]] = []

        def reply(body: dict[str, Any]) -> Scripted | str:
            if body["messages"][0]["content"].startswith("You check statements of an answer"):
                judged.append(body)
                return script(len(judged))
            user = body["messages"][-1]["content"]
            if "<material>" not in user:
                return name_pattern_script(body)
            before = user.split("-----Sources")[1].split("Hanna Quill led")[0]
            row = re.findall(r"^(\d+)\|", before, re.MULTILINE)[-1]
            cites = f"[Data: Sources ({row})]"
            return (
                f"The union of the dockers was led by Hanna Quill {cites}. She led it with 37 boats {cites}."
            )

        with ScriptedEndpoint(reply) as endpoint:
            settings = CorpusSettings.model_validate(
                {"search": {"engine": "llm", **search}, "model": {"base_url": endpoint.url, "name": "m"}}
            )
            searcher = index.searcher.with_settings(settings)
            opened = Index(
                "coast", searcher, settings, index.version, LLMCache(file=str(tmp_path / "replies.sqlite"))
            )
            return opened.ask(QUESTION, method="local"), judged

    return asked


def verdicts(*given: str) -> str:
    return json.dumps(
        {"verdicts": [{"id": n, "reason": "so", "verdict": one} for n, one in enumerate(given, 1)]}
    )


def test_words_judge_unless_the_settings_say_otherwise(ask: Ask) -> None:
    answer, judged = ask(lambda _: "")
    assert judged == []
    assert [one.verdict for one in answer.statements] == ["supported", "not"]
    assert answer.statements[1].reason.startswith("the number 37 does not")
    assert (answer.partly_supported, answer.unsupported) == (0, 1)
    told = answer.to_dict()
    assert (told["partly_supported"], told["unsupported"]) == (0, 1)
    assert told["statements"][1]["verdict"] == "not"


def test_the_model_judges_where_it_is_to_and_is_accounted_for(ask: Ask) -> None:
    answer, judged = ask(lambda _: verdicts("partly", "yes"), support="model")
    assert len(judged) == 1
    assert [(one.verdict, one.reason) for one in answer.statements] == [("partly", "so"), ("supported", "")]
    assert answer.usage.calls == 2
    assert (answer.steps[-1].task, answer.steps[-1].about) == ("support", "2 statements")
    assert answer.problems == ()


def test_a_model_that_cannot_say_is_told_and_the_words_judge(ask: Ask) -> None:
    answer, judged = ask(lambda _: "no idea", support="model")
    assert len(judged) > 1
    assert [one.verdict for one in answer.statements] == ["supported", "not"]
    [problem] = answer.problems
    assert problem.startswith("support: ")
    assert answer.steps[-1].problem == problem


def test_a_model_is_counted_beforehand(index: Index) -> None:
    def calls(support: str) -> float:
        settings = CorpusSettings.model_validate({"search": {"engine": "llm", "support": support}})
        return index.searcher.with_settings(settings).size("basic").calls.expected

    assert calls("model") == calls("words") + 1


def test_settings_that_cannot_be_are_one_clear_error(index: Index, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="set support_model to a cross-encoder"):
        CorpusSettings.model_validate({"search": {"support": "nli"}})
    settings = CorpusSettings.model_validate({"search": {"support": "model"}})
    opened = Index("coast", index.searcher, settings, "v", LLMCache(file=str(tmp_path / "replies.sqlite")))
    with pytest.raises(EngineError, match="search.support is model, but the engine extractive asks none"):
        opened.ask(QUESTION, method="basic")
