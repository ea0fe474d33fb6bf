"""What differs between two states of a corpus, and which stages that concerns."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.catalogue.registry import stages as declared_stages
from graphrag_dagster.kernel.catalogue.registry import stages_made
from graphrag_dagster.kernel.common.state_comparison import (
    Change,
    DocumentChanges,
    compare_documents,
    compare_files,
    compare_values,
    flattened,
)
from graphrag_dagster.kernel.documents.file_discovery import discover, hash_files
from graphrag_dagster.kernel.documents.file_records import FileLimits
from graphrag_dagster.kernel.pipeline.index_status import following, stages_of_prompts, stages_of_settings
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, parse_settings
from graphrag_dagster.kernel.tasks.prompts import all_prompts
from support.reading import read_corpus

folders = st.dictionaries(
    st.text("abc/", min_size=1, max_size=3), st.none() | st.sampled_from("xyz"), max_size=8
)


@given(folders, folders)
def test_every_path_is_told_once_on_either_side(
    before: dict[str, str | None], now: dict[str, str | None]
) -> None:
    found = compare_files(before, now)
    old, new = [path for path, _ in found.renamed], [path for _, path in found.renamed]
    same = [path for path in before if path in now and before[path] == now[path]]
    assert sorted([*found.removed, *old, *found.edited, *same]) == sorted(before)
    assert sorted([*found.added, *new, *found.edited, *same]) == sorted(now)
    assert found.unchanged == len(same)
    assert all(before[a] == now[b] is not None for a, b in found.renamed)
    assert bool(found) == (before != now)
    assert not {before[path] for path in found.removed} & {now[path] for path in found.added} - {None}


@given(folders, folders)
def test_the_way_back_is_the_mirror_image(before: dict[str, str | None], now: dict[str, str | None]) -> None:
    there, back = compare_files(before, now), compare_files(now, before)
    assert there.edited == back.edited
    assert len(there.renamed) == len(back.renamed)
    assert len(there.added) == len(back.removed)
    assert len(there.removed) == len(back.added)


def test_a_moved_file_is_renamed_and_a_copy_is_added() -> None:
    before = {"a.txt": "1", "b.txt": "2", "c.txt": "3", "d.txt": None}
    now = {"a.txt": "1", "a copy.txt": "1", "moved/b.txt": "2", "c.txt": "4", "e.txt": None}
    found = compare_files(before, now)
    assert found.added == ("a copy.txt", "e.txt")
    assert found.renamed == (("b.txt", "moved/b.txt"),)
    assert found.edited == ("c.txt",)
    assert found.removed == ("d.txt",)
    assert (found.unchanged, len(found)) == (1, 5)


def test_nested_values_are_compared_by_dotted_keys() -> None:
    before = flattened({"a": {"b": 1, "c": {}}, "l": [1, 2]})
    assert before == {"a.b": 1, "l": [1, 2]}
    now = flattened({"a": {"b": 1, "c": {"d": True}}, "l": [2]})
    assert compare_values(before, now) == [Change("a.c.d", None, True), Change("l", [1, 2], [2])]


def test_hashes_are_those_of_reading(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("Anna met Bert.")
    (tmp_path / "sub" / "copy.txt").write_text("Anna met Bert.")
    (tmp_path / "b.bin").write_bytes(b"\0\1")
    (tmp_path / "big.txt").write_text("x" * 2000)
    (tmp_path / "draft.txt").write_text("not yet")
    (tmp_path / "corpus.yaml").write_text("engine: extractive")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    read = read_corpus(tmp_path, limits=FileLimits(max_bytes=1000), ignore=["draft*"]).files
    assert hash_files(discover(tmp_path, max_bytes=1000, ignore=["draft*"])) == dict(
        read.filter(pl.col("status") != "ignored").select("path", "sha256").iter_rows()
    )


def stages(content: dict[str, object], base: dict[str, object] | None = None) -> set[str]:
    before = flattened(parse_settings(base or {}, "corpus.yaml").model_dump(mode="json"))
    now = flattened(parse_settings({**(base or {}), **content}, "corpus.yaml").model_dump(mode="json"))
    changes = compare_values(before, now)
    assert changes
    return stages_of_settings(changes, before, now)


LLM = {"engine": "llm"}
VECTORS = {"embeddings", "entity_embeddings"}


@pytest.mark.parametrize(
    ("content", "base", "expected"),
    [
        ({"text_units": {"size": 300}}, {}, {"corpus"}),
        ({"files": {"ignore": ["*.log"]}}, {}, {"corpus"}),
        ({"claims": {"enabled": True}}, {}, {"extraction"}),
        ({"extraction": {"processes": 3}}, {}, set()),
        ({"extraction": {"entity_types": ["ship"]}}, {}, set()),
        ({"extraction": {"entity_types": ["ship"]}}, LLM, {"extraction"}),
        ({"extraction": {"gleaning": {"rounds": 0}}}, LLM, {"extraction"}),
        ({"extraction": {"pipeline": "en_other"}}, LLM, set()),
        ({"extraction": {"pipeline": "en_other"}}, {}, {"extraction"}),
        ({"graph": {"max_input_tokens": 100}}, {}, set()),
        ({"graph": {"weight": "strength_sum"}}, {}, {"graph"}),
        ({"communities": {"seed": 1}}, {}, {"communities"}),
        ({"reports": {"context_tokens": 500}}, {}, {"reports"}),
        ({"embeddings": {"embedder": "endpoint", "model": "m"}}, {}, VECTORS),
        ({"search": {"level": 2}}, {}, {"answers"}),
        ({"description": "harbour news"}, {}, {"questions"}),
        (
            {"engine": "llm"},
            {},
            {"extraction", "resolution", "graph", "reports", "questions", "answers", "evaluation"},
        ),
        ({"resolution": {"engine": "extractive"}}, LLM, {"resolution"}),
        ({"resolution": {"enabled": False, "engine": "llm"}}, {"resolution": {"enabled": False}}, set()),
        ({"reports": {"engine": "llm"}}, {}, {"reports"}),
        ({"reports": {"engine": "extractive"}}, {}, set()),
        ({"model": {"name": "other"}}, {}, set()),
        ({"model": {"name": "other"}}, {"reports": {"engine": "llm"}}, {"reports"}),
        ({"model": {"concurrency": 2, "timeout_seconds": 3}}, LLM, set()),
        ({"model": {"tasks": {"report": {"name": "other"}}}}, LLM, {"reports"}),
        ({"model": {"tasks": {"report": {"concurrency": 1}}}}, LLM, set()),
        ({"model": {"tasks": {"resolve": {"name": "other"}}}}, LLM, {"resolution"}),
        ({"profile": "paper"}, {}, {"resolution", "communities", "answers"}),
        (
            {"profile": "paper", "model": {"replies": "json_schema"}},
            LLM,
            {"resolution", "graph", "communities", "answers"},
        ),
        ({"model": {"namespace": "b"}}, {"embeddings": {"embedder": "endpoint"}}, VECTORS),
        ({"context": {"alpha": 2.0}}, {}, {"context"}),
        ({"paths": {"max_ent": 50}}, {}, {"paths"}),
        ({"paths": {"max_ent": 50, "processes": 2}}, {"paths": {"max_ent": 50}}, set()),
        ({"paths": {"max_ent": 50, "engine": "llm"}}, {"paths": {"max_ent": 50}}, {"paths"}),
    ],
)
def test_a_setting_concerns_the_stages_that_read_it(
    content: dict[str, object], base: dict[str, object], expected: set[str]
) -> None:
    assert stages(content, base) == expected


def test_prompts_concern_the_stages_that_send_them() -> None:
    def of(name: str, settings: dict[str, object]) -> set[str]:
        return stages_of_prompts([name], flattened(parse_settings(settings, "x").model_dump(mode="json")))

    assert of("extract_graph_system", {}) == set()
    assert of("extract_graph_system", LLM) == {"extraction"}
    assert of("extract_claims_system", LLM) == set()
    assert of("extract_claims_system", {**LLM, "claims": {"enabled": True}}) == {"extraction"}
    assert of("judge_names_system", LLM) == {"resolution"}
    assert of("judge_names_system", {**LLM, "resolution": {"enabled": False}}) == set()
    assert of("claims_decompose_user", LLM) == {"evaluation"}
    assert of("global_map_system", {"search": {"engine": "llm"}}) == {"answers"}
    assert of("coterag_answer_system", {**LLM, "coterag": {"profile": "calibrated"}}) == {"coterag"}
    typing = {"extraction": {"engine": "gliner-rebel"}, "typing": {"engine": "llm"}}
    assert of("type_entities_user", typing) == {"extraction"}
    assert of("retry", {"reports": {"engine": "llm"}}) == {"reports"}
    assert all(
        of(name, LLM) or name.startswith(("claims_", "coterag_", "extract_claims", "path", "type_entities"))
        for name in all_prompts()
    )


def test_what_follows_a_stage_is_the_rest_of_the_index() -> None:
    assert following([], stages_made("index")) == []
    assert following(["answers"], stages_made("index")) == []
    assert following(["reports", "graph"], stages_made("index")) == list(stages_made("index")[4:])


def test_every_setting_is_placed() -> None:
    """A new section must say which stage it concerns, or that it concerns none."""
    placed = {
        "model",
        "engine",
        "kind",
        *(section for one in declared_stages().values() for section in one.sections),
    }
    # A profile counts by the keys that it sets.
    none = {"publishing", "schedule", "profile", "cypher", "write_back"}
    assert set(CorpusSettings.model_fields) <= placed | none


def _documents(*rows: tuple[str, str, str | None, int | None]) -> pl.DataFrame:
    schema = {"document_id": pl.String, "path": pl.String, "source_id": pl.String, "row": pl.Int32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def test_documents_are_edited_where_they_stand() -> None:
    before = _documents(
        ("a", "a.md", None, None),
        ("b", "b.md", None, None),
        ("r0", "t.csv", "k0", 0),
        ("r1", "t.csv", "k1", 1),
    )
    now = _documents(
        ("a", "moved.md", None, None),
        ("x", "b.md", None, None),
        ("n", "t.csv", "k2", 0),
        ("e", "t.csv", "k0", 1),
    )
    assert compare_documents(before, now) == DocumentChanges(added=1, edited=2, removed=1, unchanged=1)
    assert compare_documents(before, before) == DocumentChanges(0, 0, 0, 4)
    assert compare_documents(before.clear(), now) == DocumentChanges(4, 0, 0, 0)
    assert compare_documents(before, now.clear()) == DocumentChanges(0, 0, 4, 0)
    shifted = _documents(("n", "t.csv", None, 0), ("r0", "t.csv", None, 1), ("r1", "t.csv", None, 2))
    rows = _documents(("r0", "t.csv", None, 0), ("r1", "t.csv", None, 1))
    assert compare_documents(rows, shifted) == DocumentChanges(added=1, edited=0, removed=0, unchanged=2)
