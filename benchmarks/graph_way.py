"""What does the way ``graph`` read, and does it find the passages? Beside all reports of C1.

    python benchmarks/graph_way.py tokens [--homes FOLDER]
    python benchmarks/graph_way.py recall [musique] [2wiki] [--homes FOLDER]

``tokens``: 100 questions about the sample corpus, drawn by hash from ``routing_questions.yaml`` and
``graph_router_questions.jsonl``, are asked of an index that was made without a model, with a scripted
endpoint as engine of the search: over all reports of C1; by ``graph`` with the rule and templates; and with
a model that chooses the route and writes the query. Counted are the tokens that the endpoint was sent.

``recall``: the questions of ``retrieval.py`` over titled passages, asked without a model. The context of the
way ``graph`` is made with and without context nodes (``context: {enabled: true}``); its passages are the
text units that its rows quote, in the order of the rows. As a control, as many random nodes stand in the
place of the context nodes. Printed are recall among the first 2, 5 and 8 and
among all of them, and how many there are.

Indexes are kept in FOLDER and used again; default: a folder that is deleted.
"""

import argparse
import hashlib
import json
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import polars as pl
import yaml
from graph_router import CHOOSING, labelled
from measuring import session_of
from retrieval import SECTIONS, SEED, Measured, index, line, questions, ranks_of
from routing import WRITTEN, indexed

from graphrag_dagster import Index
from graphrag_dagster.apps.cypher.search.graph_search import graph
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.catalogue.tasks import Task
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Question, Search
from graphrag_dagster.kernel.questions.searcher import require_method
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tasks.task_ports import ContextUnit, FinalAnswer
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from graphrag_dagster.systems.graphrag.tasks import ANSWERER
from support.endpoint import ScriptedEndpoint, name_pattern_script

QUESTIONS = 100
FIRST = (2, 5, 8)
_NAME = re.compile(r"[A-Z][\w'-]+(?: (?:and |of )?[A-Z][\w'-]+)+|(?<=\w )[A-Z][\w'-]{3,}")
_QUERY = (
    "MATCH (a:Entity)-[r:RELATED]-(b:Entity) WHERE toLower(a.title) CONTAINS '{name}' "
    "RETURN a.title AS title, r.relation AS relation, b.title AS other "
    "ORDER BY r.strength DESC, other LIMIT 30"
)
_WRITING = "You write one query in openCypher"


def asked_of_the_harbour() -> list[str]:
    """The questions about the sample corpus of both files, the first by hash."""
    written = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))["harbour"]
    every = {one for texts in written.values() for one in texts}
    every |= {one.question for one in labelled() if one.corpus == "harbour"}
    return sorted(every, key=lambda one: hashlib.sha256(one.encode()).digest())[:QUESTIONS]


def scripted(routes: dict[str, str]) -> Any:
    """Replies: the route of the rule, the edges of the first name, and answers that speak of no quality."""

    def reply(body: dict[str, Any]) -> Any:
        system, user = (body["messages"][place]["content"] for place in (0, -1))
        if system.startswith(CHOOSING):
            asked = next(one for one in routes if one in user)
            return json.dumps({"reason": "As the rule has it.", "route": routes[asked]})
        if system.startswith(_WRITING):
            asked = next(one for one in routes if one in user)
            name = next(iter(_NAME.findall(asked)), asked.split()[-1])
            cypher = _QUERY.format(name=re.sub(r"['’?].*", "", name).lower())
            return json.dumps({"reading": "Edges of what is named", "cypher": cypher})
        return name_pattern_script(body)

    return reply


def tokens(homes: Path) -> None:
    """Ask in each way, and print what the endpoint was sent."""
    indexed("harbour", homes / "harbour")
    file = homes / "harbour" / "corpora" / "harbour" / "corpus.yaml"
    before = file.read_text(encoding="utf-8") if file.exists() else ""
    asked = asked_of_the_harbour()
    routes: dict[str, str] = {}
    rows: dict[str, dict[str, Any]] = defaultdict(dict)
    try:
        with ScriptedEndpoint(scripted(routes)) as endpoint:
            model = f"model: {{base_url: '{endpoint.url}', name: scripted}}\n"
            searches = {
                "C1": ("C1", "{engine: llm}"),
                "graph, templates": ("graph", "{engine: llm, graph: {queries: templates}}"),
                "graph, model": ("graph", "{engine: llm, routing: model}"),
            }
            for name, (method, search) in searches.items():
                own = {key: value for key, value in (yaml.safe_load(before) or {}).items() if key != "search"}
                file.write_text(f"{yaml.safe_dump(own)}\nsearch: {search}\n{model}", encoding="utf-8")
                corpus = Index.open("harbour")
                found = [corpus.ask(one, method=method) for one in asked]
                if name == "graph, templates":
                    routes |= {one.question: route_of(one) for one in found}
                rows[name] = {one.question: one for one in found}
    finally:
        file.write_text(before, encoding="utf-8")
    line(
        "route (rule)",
        "questions",
        *(f"{name}: sent / context" for name in rows),
        "templates / C1",
        "model / C1",
    )
    line(*("---" for _ in range(len(rows) + 4)))
    for route in ("local", "hybrid", "global", "all"):
        of_it = [one for one in asked if route in {"all", routes[one]}]
        sent = {name: mean(rows[name][one].usage.input_tokens for one in of_it) for name in rows}
        held = {
            name: mean(sum(use.tokens for use in rows[name][one].context) for one in of_it) for name in rows
        }
        line(
            route,
            str(len(of_it)),
            *(f"{sent[name]:,.0f} / {held[name]:,.0f}" for name in rows),
            *(f"{sent[name] / sent['C1'] - 1:+.0%}" for name in ("graph, templates", "graph, model")),
        )


def with_context_nodes(name: str, home: Path) -> None:
    """Index the passages, with context nodes."""
    index(name, home, titled=True, resolved=True)
    if (home / "with_context").exists():
        return
    file = home / "corpora" / "measured" / "corpus.yaml"
    file.write_text(f"{file.read_text(encoding='utf-8')}context: {{enabled: true}}\n", encoding="utf-8")
    run_job("measured")
    (home / "with_context").touch()


class Noted:
    """Engines whose answerer notes the rows that it is shown, and says nothing."""

    engine = "extractive"

    def __init__(self, session: TaskProvider) -> None:
        self._session = session
        self.rows: Sequence[ContextUnit] = ()

    def task(self, task: Task[Any]) -> Any:
        return self if task is ANSWERER else self._session.task(task)

    def answer(self, _question: str, rows: Sequence[ContextUnit], *_rest: object) -> FinalAnswer:
        self.rows = rows
        return FinalAnswer("", self.engine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def units_of(rows: Sequence[ContextUnit]) -> list[str]:
    """The text units that rows quote, each once, relationships before entities."""
    facts_first = sorted(rows, key=lambda row: row.kind == "entity")
    return list(dict.fromkeys(quote.unit_id for row in facts_first for _, quote in row.sentences if quote))


def at_random(snapshot: IndexSnapshot) -> pl.DataFrame:
    """As many context nodes of the same communities, drawn from all nodes of their level: a control."""
    nodes = snapshot.context_nodes
    if nodes is None:
        raise SystemExit("the index has no context nodes")
    drawn = random.Random(SEED)
    levels = snapshot.community_levels.select("level", "entity_id", "community_id")
    every = {level: of.rows() for (level,), of in levels.group_by("level", maintain_order=True)}
    rows = []
    for row in nodes.iter_rows(named=True):
        home = row["community_id"]
        while home == row["community_id"]:
            _, entity, home = drawn.choice(every[row["level"]])
        rows.append({**row, "entity_id": entity, "home_id": home})
    return pl.DataFrame(rows, schema=nodes.schema)


def recall(section: str, homes: Path) -> None:
    """Make the contexts of all questions, and print which gold passages they rest on."""
    name = SECTIONS[section]
    home = homes / f"{name}_context"
    with_context_nodes(name, home)
    asked, measured = questions(name), Measured(name, titled=True)
    corpus = Index.open("measured")
    # The tables give the same rows, and need no process of their own.
    snapshot = replace(corpus.searcher.index, graph=None)
    noted = Noted(session_of("measured", CorpusSettings()))
    line(section, *(f"recall@{k}" for k in FIRST), "recall", "passages", "context nodes", "routes")
    line(*("---" for _ in range(len(FIRST) + 5)))
    ways = {
        "without context nodes": (snapshot, False),
        "with context nodes": (snapshot, True),
        "with as many random nodes": (replace(snapshot, context_nodes=at_random(snapshot)), True),
    }
    for called, (of, propagation) in ways.items():
        own = corpus.searcher.settings.search
        chosen = own.graph.model_copy(update={"propagation": propagation})
        settings = corpus.searcher.with_options(graph=chosen).settings
        found: list[Sequence[int | None]] = []
        many, led, routes = [], [], defaultdict(int)
        for question in asked:
            one = Search(
                method=require_method("graph"),
                index=of,
                count=corpus.searcher.count,
                settings=settings,
                level=own.level,
                question=Question(question.text),
                engines=noted,
            )
            noted.rows = ()
            made = graph(one)
            units = [measured.passage_of[unit] for unit in units_of(noted.rows)]
            found.append(ranks_of(question.gold, units))
            many.append(len(units))
            nodes = made.section("Context nodes")
            led.append(len(nodes.rows) if nodes else 0)
            routes[route_of(made)] += 1
        cells = [np.mean([np.mean([r is not None and r < k for r in each]) for each in found]) for k in FIRST]
        every = np.mean([np.mean([r is not None for r in each]) for each in found])
        told = ", ".join(f"{route} {number}" for route, number in sorted(routes.items()))
        line(
            called, *(f"{one:.3f}" for one in (*cells, every)), f"{mean(many):.1f}", f"{mean(led):.1f}", told
        )


def route_of(answer: Answer) -> str:
    told = answer.section("Route through the graph")
    return str(told.column("route")[0]) if told else ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["tokens", "recall"])
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    parser.add_argument("--homes", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = (options.homes or Path(folder)).resolve()
        if options.what == "tokens":
            sys.exit(tokens(homes))
        for section in options.sections or ("musique", "2wiki"):
            recall(section, homes)


if __name__ == "__main__":
    main()
