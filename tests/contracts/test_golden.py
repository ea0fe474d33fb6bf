"""The tables of some corpora are what they were, or the version of the stage that makes them has been raised.

``golden.json`` holds by stage its code version and, by corpus, a hash of each of its tables. ``make golden`` writes
it anew, but not where tables have changed under a version that has not: whoever has them would keep the old ones.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pytest

from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_COSTS
from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.pipeline import code_versions as versions
from graphrag_dagster.kernel.pipeline.code_versions import code_of_tables, code_version
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table
from graphrag_dagster.kernel.tables.usage_tables import ACCOUNTS
from graphrag_dagster.kernel.text.prompt_templates import Prompt

GOLDEN = Path(__file__).with_name("golden.json")
#: Say what decided other tables: versions of libraries and the address of the endpoint among it.
UNHASHED = {"extraction_state", "resolution_state", "clustering_state", "layout_state"}
UNHASHED_COLUMNS = {"fingerprint", "instance", "options", "seconds"}

#: By stage its ``version`` and ``tables``: hashes by corpus and table.
Golden = Mapping[str, Mapping[str, Any]]
NONE: Mapping[str, Any] = {"version": "", "tables": {}}


def hashes(warehouse: Warehouse, corpus: str) -> dict[str, dict[str, str]]:
    """The hash of each table of a corpus that has rows, by stage."""
    found: dict[str, dict[str, str]] = {}
    with duckdb.connect(str(warehouse.file(corpus)), read_only=True) as connection:
        made = set(connection.execute("select schema_name, table_name from duckdb_tables()").fetchall())
        for table in all_tables():
            if table in {*ACCOUNTS, ANSWER_COSTS} or table.name in UNHASHED:
                continue
            if (table.schema, table.name) in made and (lines := sorted(_lines(connection, table))):
                told = sha256("\n".join(lines).encode()).hexdigest()[:16]
                found.setdefault(table.group, {})["/".join(table.path)] = told
    return found


def _lines(connection: duckdb.DuckDBPyConnection, table: Table) -> Iterator[str]:
    columns = [column for column in table.columns if column.name not in UNHASHED_COLUMNS]
    vectors = {place for place, column in enumerate(columns) if column.type == VECTOR}
    measure = next((place for place, column in enumerate(columns) if column.name == "measure"), 0)
    names = ", ".join(f'"{column.name}"' for column in columns)
    for row in connection.execute(f'select {names} from "{table.schema}"."{table.name}"').fetchall():
        if "seconds" not in str(row[measure]):
            yield repr([_steady(value, place in vectors) for place, value in enumerate(row)])


def _steady(value: object, is_vector: bool) -> object:
    """The value without what another processor may compute otherwise: the last bits of a fraction.

    Of a vector that is where its largest component is.
    """
    if is_vector and isinstance(value, list | tuple):
        return [len(value), max(range(len(value)), key=value.__getitem__, default=0)]
    return round(value, 6) if isinstance(value, float) else value


def problems(golden: Golden, now: Golden) -> tuple[list[str], list[str]]:
    """What is to be raised, and of which stages the file is not up to date.

    Where anything before a stage has changed, what it makes of that may change under the same version.
    """
    raised, stale = [], []
    before_it: dict[str, set[str]] = {}
    for name, stage in stages().items():
        before_it[name] = {*stage.reads}.union(*(before_it[read] for read in stage.reads))
        before, after = golden.get(name, NONE), now[name]
        corpora = {**before["tables"], **after["tables"]}
        differing = {corpus: _differing(before, after, corpus) for corpus in corpora}
        own = {
            key
            for corpus, keys in differing.items()
            if not any(_differing(golden.get(read, NONE), now[read], corpus) for read in before_it[name])
            for key in keys
        }
        if own and before["version"] == after["version"]:
            raised.append(
                f"tables {', '.join(sorted(own))} differ: raise version of stage {name!r} in "
                "catalogue/stages.py, then `make golden`"
            )
        if any(differing.values()) or _number(before) != _number(after):
            stale.append(name)
    return raised, stale


def _differing(before: Mapping[str, Any], after: Mapping[str, Any], corpus: str) -> list[str]:
    old, new = (one["tables"].get(corpus, {}) for one in (before, after))
    return [key for key in {**old, **new} if old.get(key) != new.get(key)]


def _number(stage: Mapping[str, Any]) -> str:
    return str(stage["version"]).partition("-")[0]


def test_tables_are_as_they_were_or_the_version_of_their_stage_is_raised(
    harbour_home: Path,
    coterag_home: Path,
    context_home: Path,
    films_home: Path,
    evaluated: Callable[[str], Path],
) -> None:
    made = {
        "sample": (harbour_home, "harbour"),
        "imported graph": (films_home, "films"),
        "by a model, evaluated": (evaluated("llm"), "coast"),
        "with coterag": (coterag_home, "coast"),
        "with context nodes": (context_home, "coast"),
    }
    found = {
        corpus: hashes(Warehouse(path=str(home / "warehouse" / "{corpus}.duckdb")), name)
        for corpus, (home, name) in made.items()
    }
    now = {
        stage: {
            "version": code_version(stage),
            "tables": {corpus: of[stage] for corpus, of in found.items() if stage in of},
        }
        for stage in stages()
    }
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    raised, stale = problems(golden, now)
    assert not raised, "\n".join(raised)
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    else:
        assert not stale, f"golden.json is not up to date in {', '.join(stale)}: `make golden`"


def test_only_the_stage_whose_code_changed_is_to_be_raised() -> None:
    golden = {
        name: {"version": f"1-{name}", "tables": {"sample": {f"{name}/rows": "a"}}} for name in stages()
    }
    changed = {
        name: {"version": f"1-{name}", "tables": {"sample": {f"{name}/rows": "b"}}}
        for name in ("graph", "communities", "marts")
    }
    assert problems(golden, golden) == ([], [])
    raised, stale = problems(golden, {**golden, **changed})
    assert raised == [
        "tables graph/rows differ: raise version of stage 'graph' in catalogue/stages.py, then `make golden`"
    ]
    assert stale == list(changed)
    assert problems(golden, {**golden, **changed, "graph": {**changed["graph"], "version": "2-graph"}}) == (
        [],
        list(changed),
    )
    assert problems(golden, {**golden, "layout": {**golden["layout"], "version": "2-layout"}}) == (
        [],
        ["layout"],
    )


@pytest.fixture
def differing() -> Iterator[Callable[[], set[str]]]:
    """Which stages have another version than before."""
    before = {name: code_version(name) for name in stages()}

    def found() -> set[str]:
        code_version.cache_clear()
        return {name for name in stages() if code_version(name) != before[name]}

    yield found
    code_version.cache_clear()


def test_a_version_is_its_number_and_what_tells_by_itself_that_it_has_changed(
    differing: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert (
        code_of_tables()["graph/entities"]
        == code_of_tables()["staging/entity_groups"]
        == code_version("graph")
    )
    assert code_of_tables().keys() == {"/".join(table.path) for table in all_tables()}

    raised = {**stages(), "graph": replace(stages()["graph"], version=stages()["graph"].version + 1)}
    with monkeypatch.context() as patch:
        patch.setattr(versions, "stages", lambda: raised)
        assert differing() == {"graph"}
    with monkeypatch.context() as patch:
        installed = versions.version
        patch.setattr(
            versions, "version", lambda name: "999" if name == "graspologic-native" else installed(name)
        )
        assert differing() == {"communities", "coterag"}
    (ours, *others) = versions.model_folders()
    models = shutil.copytree(ours, tmp_path / "models")
    with (models / "graph" / "triples.sql").open("a", encoding="utf-8") as query:
        query.write("limit 1")
    with monkeypatch.context() as patch:
        patch.setattr(versions, "model_folders", lambda: (models, *others))
        assert differing() == {"graph"}
    assert differing() == set()


@pytest.mark.parametrize(
    ("prompt", "concerned"),
    [
        ("extract_graph_system", {"extraction", "studies"}),
        ("summarize_descriptions_user", {"graph"}),
        ("coterag_answer_user", {"coterag", "answers"}),
        ("drift_step_user", {"answers", "studies"}),
        ("judge_user", {"evaluation", "studies"}),
    ],
)
def test_a_prompt_is_in_the_versions_of_the_stages_that_send_it(
    prompt: str, concerned: set[str], differing: Callable[[], set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = versions.load
    other = Prompt(prompt, "Another.")
    monkeypatch.setattr(versions, "load", lambda name: other if name == prompt else loaded(name))
    assert differing() == concerned
