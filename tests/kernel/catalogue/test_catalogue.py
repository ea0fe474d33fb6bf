"""What is declared is whole: it names what there is, and what there is, is declared."""

from dataclasses import replace
from typing import Any

import pytest

from graphrag_dagster.errors import CatalogueError
from graphrag_dagster.kernel.catalogue.engines import Engine
from graphrag_dagster.kernel.catalogue.registry import (
    embedders,
    engines,
    formats,
    load_target,
    order_stages,
    requested_stages_for,
    require_named,
    roles,
    stage_of,
    stages,
    tasks,
    users_of_stages,
)
from graphrag_dagster.kernel.catalogue.system import KINDS, Stage
from graphrag_dagster.kernel.catalogue.tasks import SHARED_PROMPTS
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.text import prompts


def test_every_prompt_is_sent_for_a_task_and_every_task_has_its_prompts() -> None:
    sent = {name for task in tasks().values() for name in task.prompts}
    assert sent | set(SHARED_PROMPTS) == set(prompts.all_prompts())
    assert not sent.intersection(SHARED_PROMPTS)


def test_every_table_is_of_a_stage_and_every_stage_has_tables() -> None:
    assert {table.group for table in all_tables()} == set(stages())


def test_every_section_and_key_is_one_of_the_settings() -> None:
    settings = CorpusSettings()
    known = set(flatten(settings.model_dump(mode="json"))) | set(CorpusSettings.model_fields)
    sections = [section for stage in stages().values() for section in stage.sections]
    assert set(sections) <= set(CorpusSettings.model_fields)
    keys = {key for stage in stages().values() for key in stage.without_effect}
    keys |= {key for engine in engines().values() for key in (*engine.settings, *engine.library_settings)}
    for key in keys:
        section, _, name = key.partition(".")
        assert key in known or name in type(getattr(settings, section)).model_fields, key


def test_tasks_are_of_sections_that_choose_an_engine_and_of_roles() -> None:
    settings = CorpusSettings()
    for task in tasks().values():
        assert settings.engine_of(task.section) in engines()
        assert [one.name for one in stages().values() if task.section in one.sections] == [
            stage_of(task.section)
        ]
        assert task.role in roles()


def test_engines_make_what_they_say_they_do() -> None:
    for engine in engines().values():
        assert set(engine.does) == {task.name for task in tasks().values() if engine.name in task.done_by}
        for name, make in engine.does.items():
            assert callable(load_target(make)), (engine.name, name)


@pytest.mark.parametrize(
    ("does", "told"),
    [
        (("answerer",), "does must map each task to the factory"),
        ({"answerer": "somewhere"}, "answerer must be a function or a string module:function"),
        ({"answerer": None}, "answerer must be a function or a string module:function"),
    ],
)
def test_an_engine_says_of_each_task_what_makes_who_does_it(does: Any, told: str) -> None:
    with pytest.raises(CatalogueError, match=f"mute: {told}"):
        Engine("mute", "says nothing", does)
    unknown = Engine("mute", "says nothing", {"oracle": print}).unknown(tasks())
    assert unknown
    assert unknown.startswith("mute: there is no task 'oracle'; use one of graph_extractor, claim_extractor")


def test_what_is_declared_can_be_loaded() -> None:
    for one in (*formats().values(), *embedders().values()):
        assert callable(load_target(one.read if hasattr(one, "read") else one.factory)), one


def test_stages_come_after_those_they_read() -> None:
    names = list(stages())
    for stage in stages().values():
        assert all(names.index(one) < names.index(stage.name) for one in stage.reads)
        assert set(stage.kinds) <= set(KINDS)


def test_a_request_takes_the_requests_it_reads_with_it() -> None:
    assert requested_stages_for("questions") == ["questions"]
    assert requested_stages_for("answers") == ["questions", "answers"]
    assert requested_stages_for("evaluation") == ["questions", "answers", "evaluation"]


def test_users_of_models_are_of_one_stage() -> None:
    users = [*users_of_stages("index"), *users_of_stages("request"), *users_of_stages("run")]
    assert len(users) == len(set(users))


def test_a_name_that_there_is_not_is_told_with_those_that_there_are() -> None:
    with pytest.raises(CatalogueError, match="there is no engine 'lmm'; use one of extractive, llm"):
        require_named(engines(), "lmm", "engine")


def test_a_stage_that_reads_one_there_is_not_is_refused() -> None:
    with pytest.raises(CatalogueError, match="'weather'; use one of imports, corpus, extraction"):
        order_stages((*stages().values(), Stage("forecast", version=1, reads=("weather",))))


def test_stages_that_read_each_other_in_a_circle_are_refused() -> None:
    circular = tuple(
        replace(one, reads=("reports",)) if one.name == "corpus" else one for one in stages().values()
    )
    with pytest.raises(
        CatalogueError, match=r"in a circle: .*corpus.*reports|in a circle: .*reports.*corpus"
    ):
        order_stages(circular)
