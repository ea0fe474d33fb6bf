"""Descriptions that are begun while names are judged are those that their steps would ask for, asked for once."""

import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from graphrag_dagster import tables
from graphrag_dagster.cli.output.ran import Budget
from graphrag_dagster.cli.output.running import run_job
from graphrag_dagster.core.graph.merging import description_groups
from graphrag_dagster.core.language.tasks import DescriptionGroup, MergedDescription
from graphrag_dagster.core.resolution.frames import ByRule
from graphrag_dagster.dbt_like_sql.loader import our_models
from graphrag_dagster.engines.ahead import in_a_whole_run
from graphrag_dagster.engines.session import Session
from graphrag_dagster.model_calls.memory.replies import User
from graphrag_dagster.model_calls.memory.usage import UsageLog
from graphrag_dagster.operations.keeping.begun_descriptions import (
    USERS,
    begin_descriptions,
    descriptions_ahead,
    merged_descriptions,
)
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.language import Language
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse
from support.conversations import asked_of
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.scripted_names import ruling_reply
from support.tables_of import contents

TEXTS = {
    "crossing.txt": "Bethia Mouat met Agnes Mouat in Port Ellery. Bethia Mouat owned a boat. Later Mouat sailed to "
    "Norway alone. Agnes Mouat met Bethia Mouat again.",
    "shipping.txt": "Orrin Vask worked for Brinefield Shipping in Port Ellery. Brinefield Shipping built boats.",
    "lawsuit.txt": "Selma Dray sued Brinefeild Shipping in Port Ellery. The court dismissed Brinefeild Shipping.",
}
SETTINGS = """
resolution: {engine: llm}
graph: {engine: llm, profile: paper}
text_units: {strategy: sentences, size: 60, overlap: 0}
model: {base_url: "URL", name: MODEL, retries: 0}
"""
RUN, OTHER = "11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"
QUERIES = {model.table: model.query for model in our_models() if model.table in USERS}
SAME = ("Bethia Mouat", "Mouat")


def write(home: Path, server: ScriptedEndpoint, model: str = "scripted") -> None:
    folder = home / "corpora" / "names"
    folder.mkdir(exist_ok=True)
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "corpus.yaml").write_text(
        SETTINGS.replace("URL", server.url).replace("MODEL", model), encoding="utf-8"
    )


def rulings(body: dict[str, Any]) -> Scripted | str:
    ruled = ruling_reply(body, lambda *pair: "same" if pair == SAME else "different")
    return ruled or name_pattern_script(body)


def language(limit: int | None = None) -> Language:
    return Language(max_tokens=limit, memory=ReplyMemory(), corpora=CorpusStore())


def session(run_id: str, user: str = "entities") -> Session:
    return language().session_of(CorpusStore().settings("names"), User("names", user, run_id))


def groups() -> list[DescriptionGroup]:
    return description_groups(Warehouse().read(tables.ENTITY_GROUPS, "names"))


def begin(run_id: str, by_rule: Callable[[], ByRule | None]) -> None:
    with in_a_whole_run():
        ahead = descriptions_ahead(language(), Warehouse(), "names", run_id, QUERIES)
    assert ahead is not None
    ahead.begin(by_rule)


def as_resolved(*unsettled: str) -> ByRule:
    return ByRule(Warehouse().read(tables.ALIASES, "names"), frozenset(unsettled))


def until_all_is_asked() -> None:
    # The first of these threads begins the others.
    for _ in range(2):
        for one in threading.enumerate():
            if one.name.startswith("ahead of"):
                one.join(60)


def texts(merged: Sequence[MergedDescription]) -> list[str]:
    return [one.text for one in merged]


def test_what_the_rules_settle_is_asked_while_names_are_judged(home: Path) -> None:
    described = threading.Event()

    def script(body: dict[str, Any]) -> Scripted | str:
        task = asked_of(body).task
        if task == "summarize_descriptions":
            described.set()
        elif task == "judge_names":
            assert described.wait(60), "no description was asked for while names were judged"
        return rulings(body)

    with ScriptedEndpoint(script) as server:
        write(home, server)
        run_job("names", run_id=RUN)
        assert described.is_set()
        tally = server.tally()
        assert tally["calls"]["judge_names"] == 2
        assert tally["repeated"] == 0
        used = UsageLog(ReplyMemory().database()).by_task("names", RUN)
        booked = sum(use.calls for (_, task, _), use in used.items() if task == "summarize_descriptions")
        assert booked == tally["calls"]["summarize_descriptions"]
        made = contents(Warehouse(), "names")
        # With a limit nothing is begun ahead.
        run_job("names", budget=Budget(max_tokens=10_000_000))
        assert contents(Warehouse(), "names") == made
        assert server.tally()["calls"] == tally["calls"]
    descriptions = dict(
        Warehouse().read(tables.ENTITIES, "names").select("name", "description_engine").rows()
    )
    assert descriptions["BETHIA MOUAT"] == "llm"
    assert "MOUAT" not in descriptions


def test_what_a_model_has_still_to_rule_on_is_left_to_the_step(home: Path) -> None:
    with ScriptedEndpoint(rulings) as server:
        write(home, server)
        run_job("names")
        expected = texts(session(OTHER).description_merger().merge(groups()))
        write(home, server, model="another")
        before = len(server.chats)
        begin(RUN, lambda: as_resolved("BETHIA MOUAT"))
        until_all_is_asked()
        ahead = [json.dumps(one.body) for one in server.chats[before:]]
        assert not any("BETHIA" in one for one in ahead)
        own = session(RUN)
        merged, whose = merged_descriptions(own, groups())
        assert texts(merged) == expected
        assert whose is not own
        assert any("BETHIA" in json.dumps(one.body) for one in server.chats[before + len(ahead) :])
        assert server.tally()["repeated"] == 0
        merged, whose = merged_descriptions(own, groups())
        assert whose is own, "it is taken once"
        assert texts(merged) == expected


def test_names_that_cannot_be_resolved_ahead_leave_all_to_the_step(home: Path) -> None:
    def by_rule() -> ByRule:
        raise ValueError("these cannot be resolved")

    with ScriptedEndpoint(rulings) as server:
        write(home, server)
        run_job("names")
        expected = texts(session(OTHER).description_merger().merge(groups()))
        begin(RUN, by_rule)
        merged, _ = merged_descriptions(session(RUN), groups())
        assert texts(merged) == expected


def test_what_an_endpoint_refuses_ahead_is_asked_by_the_step(home: Path) -> None:
    refusing = threading.Event()

    def faults(_number: int, body: dict[str, Any]) -> Fault | None:
        refused = refusing.is_set() and asked_of(body).task == "summarize_descriptions"
        return Fault(status=401) if refused else None

    with ScriptedEndpoint(rulings, faults=faults) as server:
        write(home, server)
        run_job("names")
        expected = texts(session(OTHER).description_merger().merge(groups()))
        # Replies of another model are not remembered.
        write(home, server, model="another")
        refusing.set()
        begin(RUN, as_resolved)
        until_all_is_asked()
        asked = server.tally()["statuses"]
        assert asked["401"] > 0
        refusing.clear()
        merged, _ = merged_descriptions(session(RUN), groups())
        assert texts(merged) == expected
        assert not any(one.problem for one in merged)


def test_where_names_are_judged_at_once_all_is_left_to_the_steps(home: Path) -> None:
    with ScriptedEndpoint(rulings) as server:
        write(home, server)
        run_job("names")
        expected = texts(session(OTHER).description_merger().merge(groups()))
        begin(RUN, lambda: None)
        until_all_is_asked()
        own = session(RUN)
        merged, whose = merged_descriptions(own, groups())
        assert whose is own
        assert texts(merged) == expected


def test_relationships_are_begun_beside_entities(home: Path) -> None:
    together = threading.Barrier(2)

    def script(body: dict[str, Any]) -> Scripted | str:
        if asked_of(body).task == "summarize_descriptions":
            together.wait(60)
        return rulings(body)

    own, beside = ([DescriptionGroup(names, ("One thing.", "Another."))] for names in (("A",), ("A", "B")))
    with ScriptedEndpoint(script) as server:
        write(home, server)
        with in_a_whole_run():
            begin_descriptions(session(RUN, "relationships"), beside)
        merged_descriptions(session(RUN), own)
        before = server.tally()["calls"]
        merged, _ = merged_descriptions(session(RUN, "relationships"), beside)
        assert [one.engine for one in merged] == ["llm"]
        assert server.tally()["calls"] == before
        begin_descriptions(session(OTHER, "relationships"), beside)
        own_session = session(OTHER, "relationships")
        assert merged_descriptions(own_session, beside)[1] is own_session, "its steps are in other processes"


def test_nothing_is_begun_with_a_limit_or_where_steps_are_elsewhere(home: Path) -> None:
    with ScriptedEndpoint(rulings) as server:
        write(home, server)
        with in_a_whole_run():
            assert descriptions_ahead(language(10_000), Warehouse(), "names", RUN, QUERIES) is None
            assert descriptions_ahead(language(), Warehouse(), "names", RUN, QUERIES) is not None
        assert descriptions_ahead(language(), Warehouse(), "names", RUN, QUERIES) is None
