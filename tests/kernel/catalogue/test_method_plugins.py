"""Plug-ins that cannot be used: one warning each, and the rest works."""

import json
import logging
from pathlib import Path

import pytest

from graphrag_dagster.apps.evaluation.settings import QuestionSettings
from graphrag_dagster.cli.commands.doctor_commands import doctor
from graphrag_dagster.cli.result import show
from graphrag_dagster.errors import CatalogueError, EndpointError, EngineError, QuestionError
from graphrag_dagster.kernel.catalogue import registry
from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.questions.searcher import Searcher
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from support.index_frames import index_of
from support.plugins import plugged_in
from support.questions import Given

MADE = """
from graphrag_dagster.kernel.catalogue.search_methods import SearchMethod
from graphrag_dagster.kernel.catalogue.system import System

def answer(search):
    raise NotImplementedError

def way(name, **more):
    return SearchMethod(name, "nothing", answer, "graphrag_dagster.systems.graphrag.search.search_estimates:one_call", **more)

def having(name, **more):
    return System("bad", "bad", methods=(way(name, **more),))

"""
#: What a module declares, and what is said of it.
BROKEN = {
    "global": (
        f"{MADE}BAD = having('global')",
        "there is already a SearchMethod global; choose another name",
    ),
    "SS": (f"{MADE}BAD = having('SS')", "there is already a SearchMethod SS; choose another name"),
    "Local": (f"{MADE}BAD = having('Local')", "there is already a SearchMethod Local; choose another name"),
    "raises": (
        "raise RuntimeError('no licence\\nfound')",
        "it cannot be loaded (RuntimeError: no licence found)",
    ),
    "ends": ("raise SystemExit(3)", "it cannot be loaded (SystemExit: 3)"),
    "wrong": (
        "BAD = 'wrong'",
        "it is a str, not a graphrag_dagster.kernel.catalogue.system.System",
    ),
    "other": (
        f"{MADE}BAD = System('another', 'bad')",
        "it declares the name 'another'; the entry point must have the same",
    ),
    "C7": (
        f"{MADE}BAD = having('C7')",
        "it cannot be loaded (CatalogueError: C7 is reserved for the condition of that community level)",
    ),
    "needy": (
        f"{MADE}BAD = having('needy', tasks=('poet',))",
        "needy: there is no task 'poet'; use one of ",
    ),
    "lost": (
        f"{MADE}BAD = having('lost', tables=('corpus.poems',))",
        "lost: there is no table 'corpus.poems'; use one of corpus.document_metadata, ",
    ),
    "tables": (
        f"{MADE}BAD = System('bad', 'bad', tables=('nowhere:TABLES',))",
        "its declarations cannot be loaded (nowhere:TABLES cannot be loaded",
    ),
    "absent": ("", "it cannot be loaded (AttributeError: module 'absent_module' has no attribute 'BAD')"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_used_is_left_out_with_one_warning(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module, problem = BROKEN[name]
    modules = {
        f"{name}_module.py": module,
        "fine.py": f"{MADE}FINE = System('fine', 'fine', methods=(way('fine'),))",
    }
    ours = list(registry.methods())
    with plugged_in(tmp_path, modules, {"bad": f"{name}_module:BAD", "fine": "fine:FINE"}):
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                assert sorted(registry.methods()) == sorted([*ours, "fine"])
        states = {one.name: one.problem is None for one in registry.installed_plugins()}
    assert states == {"bad": False, "fine": True}
    (told,) = caplog.messages
    assert told.startswith(f"the plug-in 'bad' of toy 1.0 is left out: {problem}")


LEVELLED = f"""{MADE}
def level(search):
    from graphrag_dagster.kernel.questions.context.answer import Answer
    return Answer(search.question.text, search.method.name, search.level, "a text", "extractive")

LEVEL = SearchMethod("level", "a level", level, "graphrag_dagster.systems.graphrag.search.search_estimates:whole", levelled=True)
EVERY = SearchMethod("every", "a text", level, "graphrag_dagster.systems.graphrag.search.search_estimates:one_call", condition=True)
TEXT = SearchMethod("text", "a text", lambda search: "a text", "graphrag_dagster.systems.graphrag.search.search_estimates:one_call")
LOST = SearchMethod("lost", "nothing", "levelled:no_such", "levelled:no_such")
SYSTEM = System("levelled", "levelled", methods=(LEVEL, EVERY, TEXT, LOST))
"""


def test_what_a_way_declares_decides_how_it_is_asked(tmp_path: Path) -> None:
    ours = QuestionSettings().methods
    with plugged_in(tmp_path, {"levelled.py": LEVELLED}, {"levelled": "levelled:SYSTEM"}):
        searcher = Searcher(index_of({"A": "B"}), CorpusSettings(search=SearchSettings(level=2)), len)

        def ask(method: str, level: str | None = None) -> Answer:
            return searcher.answer(Question(" Why? ", method, level), Given({}))

        assert (ask("level").level, ask("Level", "C0").level, ask("every").level) == (2, 0, None)
        assert ask("level").question == "Why?"
        with pytest.raises(
            QuestionError,
            match="every has no selectable level; leave it out, or ask by global or dynamic or graph or level",
        ):
            ask("every", "C1")
        with pytest.raises(EngineError, match="the search method text returned a str, not an Answer"):
            ask("text")
        with pytest.raises(CatalogueError, match="levelled:no_such cannot be loaded"):
            ask("lost")
        with pytest.raises(CatalogueError, match="levelled:no_such cannot be loaded"):
            searcher.size("lost")
        assert searcher.size("level") == searcher.size("C2")
        assert sorted(QuestionSettings().methods) == sorted([*ours, "every"])


def test_the_list_tells_the_problem_and_ends_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    module, problem = BROKEN["raises"]
    with plugged_in(tmp_path, {"raising.py": module}, {"raises": "raising:BAD"}):
        assert show(doctor(None), as_json=True) == 1
        told = json.loads(capsys.readouterr().out)["plugins"]
        assert told == [{"name": "raises", "package": "toy 1.0", "problem": problem}]
        assert show(doctor(None), as_json=False) == 1
        assert "left out: it cannot be loaded" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(EndpointError, match="no endpoint is configured"):
        doctor(None)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("two words", "use a letter, then letters"), ("", "use a letter"), ("a:b", "use a letter")],
)
def test_a_name_that_cannot_be_asked_by_is_no_name(name: str, problem: str) -> None:
    with pytest.raises(CatalogueError, match=problem):
        SearchMethod(name, "nothing", len, len)


@pytest.mark.parametrize("target", [None, 7, "no function", "a:b:c"])
def test_what_answers_is_a_function_or_names_one(target: object) -> None:
    with pytest.raises(CatalogueError, match="mine: answer must be a function"):
        SearchMethod("mine", "nothing", target, len)
    with pytest.raises(CatalogueError, match="mine: size must be a function"):
        SearchMethod("mine", "nothing", len, target)


@pytest.mark.parametrize(
    "target", ["no_such_module:answer", "graphrag_dagster.kernel.models.call_estimates:no_such"]
)
def test_a_function_that_is_not_there_is_named(target: str) -> None:
    with pytest.raises(CatalogueError, match=f"{target} cannot be loaded"):
        registry.load_target(target)
