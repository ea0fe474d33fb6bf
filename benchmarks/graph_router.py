"""Does the way ``graph`` choose the route that a person would?

    python benchmarks/graph_router.py [--homes FOLDER] [--show]

``graph_router_questions.jsonl`` has 150 questions over the sample corpus and the podcasts, with the route
that a person would choose: ``local`` (a fact at certain nodes), ``global`` (what holds of many), ``hybrid``
(a broad question about certain nodes). Half of them, drawn by the hash of the question, is what the rule was
written on; the other half is reported. ``--show`` prints what was taken for another route.

The path of a model is measured with a scripted endpoint, whose replies are right but for those that are
spoiled: one in ten is no JSON at all, one in ten breaks off, one in ten names a route that there is not. What
a person would choose is what its replies say, so that the table shows the path, not a model.

Indexes are made without a model in ``FOLDER/<corpus>`` (default: a folder that is deleted) unless they are
there.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from routing import indexed

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from graphrag_dagster import Index
from graphrag_dagster.apps.cypher.search.graph_search import by_rule, choose_route
from graphrag_dagster.apps.cypher.tasks import GRAPH_ROUTER
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache, User
from graphrag_dagster.kernel.questions.finding import names_in_question
from graphrag_dagster.kernel.questions.question import Question, Search
from graphrag_dagster.kernel.questions.searcher import require_method
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.tasks.answering_ports import Router
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.systems.graphrag.search.graph_facts import entities_of
from support.conversations import section
from support.endpoint import ScriptedEndpoint, name_pattern_script

WRITTEN = Path(__file__).with_name("graph_router_questions.jsonl")
ROUTES = ("local", "global", "hybrid")
CHOOSING = "You choose what to look up in a knowledge graph"


@dataclass(frozen=True)
class Labelled:
    """A question about a corpus, and its route."""

    corpus: str
    question: str
    route: str

    @property
    def digest(self) -> bytes:
        """What decides its half, and what becomes of its reply."""
        return hashlib.sha256(f"{self.corpus} {self.question}".encode()).digest()

    @property
    def tunes(self) -> bool:
        """Whether it is of the half that the rule was written on."""
        return self.digest[0] % 2 == 0


def labelled() -> list[Labelled]:
    return [Labelled(**json.loads(line)) for line in WRITTEN.read_text(encoding="utf-8").splitlines()]


class Engines:
    """The router alone."""

    def __init__(self, router: Router | None) -> None:
        self._router = router

    def task(self, _task: Task[Any]) -> Any:
        return self._router


def asked_in(homes: Path, questions: list[Labelled]) -> Iterator[tuple[Labelled, Search, list[str]]]:
    """Every question as it is asked, with the titles of the entities that it names."""
    for corpus in dict.fromkeys(one.corpus for one in questions):
        indexed(corpus, homes / corpus)
        searcher = Index.open(corpus).searcher
        for one in questions:
            if one.corpus == corpus:
                search = Search(
                    method=require_method("graph"),
                    index=searcher.index,
                    count=searcher.count,
                    settings=searcher.with_options(routing="model").settings,
                    question=Question(one.question),
                    engines=Engines(None),
                )
                yield one, search, list(entities_of(names_in_question(search)).values())


def scripted(questions: list[Labelled]) -> Callable[[dict[str, Any]], Any]:
    """Replies of a router that says what a person would, some of them spoiled."""
    known = {one.question: one for one in questions}

    def reply(body: dict[str, Any]) -> Any:
        if not body["messages"][0]["content"].startswith(CHOOSING):
            return name_pattern_script(body)
        one = known[str(section(body["messages"][1]["content"], "question"))]
        good = json.dumps({"reason": "So a person would say.", "route": one.route})
        spoiled = {0: "I would look it up.", 1: good[:-20], 2: good.replace(one.route, "sideways")}
        return spoiled.get(one.digest[1] % 10, good)

    return reply


def router_at(url: str) -> Router:
    settings = parse_settings(
        {"engine": "llm", "model": {"base_url": url, "name": "scripted"}, "search": {"routing": "model"}},
        "graph_router.py",
    )
    session = Language(memory=LLMCache()).session_of(settings, User("routes", "ask", "1"))
    router = session.task(GRAPH_ROUTER)
    assert router
    return router


def table(name: str, chosen: dict[Labelled, str], questions: list[Labelled]) -> None:
    """Print how often each labelled route was taken for each."""
    found = Counter((one.route, chosen[one]) for one in questions)
    right = sum(found[route, route] for route in ROUTES)
    print(f"\n{name}: {right} of {len(questions)} right ({right / len(questions):.1%})")
    print(f"{'labelled':<10}" + "".join(f"{route:>9}" for route in ROUTES))
    for route in ROUTES:
        print(f"{route:<10}" + "".join(f"{found[route, other]:>9}" for other in ROUTES))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    questions = labelled()
    with tempfile.TemporaryDirectory() as folder:
        homes = (options.homes or Path(folder)).resolve()
        by_rules: dict[Labelled, str] = {}
        by_model: dict[Labelled, str] = {}
        lost: dict[Labelled, str] = {}
        with ScriptedEndpoint(scripted(questions)) as endpoint:
            router = router_at(endpoint.url)
            for one, search, names in asked_in(homes, questions):
                by_rules[one] = by_rule(one.question, names).route
                if options.show and by_rules[one] != one.route:
                    half = "tune" if one.tunes else "report"
                    print(f"  {half}: {one.route} taken for {by_rules[one]}: {one.question}  {names}")
                engines: Any = Engines(router)
                possible = ROUTES if names else ROUTES[1:]
                chosen = choose_route(replace(search, engines=engines), names, possible)
                usable = chosen.routed is None or chosen.routed.method is not None
                (by_model if usable else lost)[one] = chosen.route
    table("rule, half that it was written on", by_rules, [one for one in questions if one.tunes])
    table("rule, reported half", by_rules, [one for one in questions if not one.tunes])
    table("scripted model, replies of use", by_model, list(by_model))
    table("scripted model, replies of no use", lost, list(lost))


if __name__ == "__main__":
    main()
