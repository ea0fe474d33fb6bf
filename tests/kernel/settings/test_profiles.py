"""One key that sets many: what a profile sets, what overrides it, and what it leaves alone."""

from pathlib import Path

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.pipeline.corpus_changes import changed_settings
from graphrag_dagster.kernel.settings.corpus_settings import (
    CorpusSettings,
    load_settings,
    parse_settings,
)
from graphrag_dagster.kernel.settings.profiles import profiles
from graphrag_dagster.kernel.storage.published import Published, SnapshotProvenance

PAPER = profiles()["paper"]


def flat(content: dict[str, object]) -> dict[str, object]:
    return flatten(parse_settings(content, "corpus.yaml").model_dump(mode="json"))


def nested(key: str, value: object) -> dict[str, object]:
    for name in reversed(key.split(".")):
        value = {name: value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize("key", PAPER)
def test_each_key_is_set_and_the_file_overrides_it(key: str) -> None:
    default, paper = flat({"engine": "llm"}), flat({"engine": "llm", "profile": "paper"})
    assert paper[key] == PAPER[key]
    other = {**paper, **default}[key] if default[key] != paper[key] else _another(paper[key])
    given = {"engine": "llm", "profile": "paper", **nested(key, other)}
    changed = flat(given)
    assert changed.pop(key) == other
    assert changed == {name: value for name, value in paper.items() if name != key}


def _another(value: object) -> object:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value * 2 if value == 1 or value >= 200 else value + 1
    if isinstance(value, list):
        return value[:-1]
    return {
        "tokens": "sentences",
        "cl100k_base": "o200k_base",
        "check_first": "continue_first",
        "count": "strength_sum",
        "answer": "points",
    }[str(value)]


def test_what_the_paper_does_not_fix_has_its_default() -> None:
    default, paper = flat({"engine": "llm"}), flat({"engine": "llm", "profile": "paper"})
    assert {key for key in paper if paper[key] != default.get(key)} <= {*PAPER, "profile"}
    assert paper["extraction.gleaning.rounds"] == default["extraction.gleaning.rounds"]
    assert paper["search.level"] == default["search.level"]
    assert paper["engine"] == "llm"


@pytest.mark.parametrize(
    ("content", "knows"),
    [
        ({}, False),
        ({"engine": "llm"}, True),
        ({"search": {"engine": "llm"}}, True),
        ({"engine": "llm", "search": {"engine": "extractive"}}, False),
        ({"engine": "llm", "search": {"engine": None}}, True),
        ({"search": {"general_knowledge": True}}, True),
    ],
)
def test_knowledge_of_the_world_is_allowed_where_a_model_answers(
    content: dict[str, object], knows: bool
) -> None:
    assert parse_settings({"profile": "paper", **content}, "x").search.general_knowledge is knows


def test_a_key_given_as_null_is_given() -> None:
    settings = parse_settings({"profile": "paper", "search": {"response_type": None}}, "x")
    assert settings.search.response_type is None


def test_what_was_given_is_left_as_it_is() -> None:
    given = {"profile": "paper", "text_units": {"size": 700}}
    parse_settings(given, "x")
    assert given == {"profile": "paper", "text_units": {"size": 700}}


def test_settings_of_a_profile_are_the_same_after_a_round_trip() -> None:
    settings = parse_settings({"profile": "paper", "engine": "llm"}, "x")
    assert CorpusSettings.model_validate_json(settings.model_dump_json()) == settings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "engine: llm\nprofile: papr",
            [
                "line 2: profile is 'papr'; allowed: 'default', 'paper', 'paper_002', 'paper_003' or 'paper_004'"
            ],
        ),
        (
            "profile: [paper]",
            ["line 1: profile is a list", "'default', 'paper', 'paper_002', 'paper_003' or 'paper_004'"],
        ),
        ("profile: paper\nsearch: [1]", ["line 2: search: should be a section"]),
        ("profile: paper\nsearch:\n  methd: x", ["line 3: search.methd", "did you mean method?"]),
        ("profile: paper\n\ntext_units:\n  size: 50", ["line 3: ", "overlap (100) must be smaller"]),
        ("profile: paper\nengine: {}", ["line 2: engine"]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "corpus.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    for word in words:
        assert word in str(caught.value)


def test_a_manifest_from_before_there_were_profiles_is_still_of_these_settings() -> None:
    told = SnapshotProvenance(CorpusSettings()).told(None)
    assert told["settings"].pop("profile") == "default"
    before = Published(Path("x.duckdb"), "0" * 16, "1" * 16, told)
    assert changed_settings(CorpusSettings(), before) == []
    paper = changed_settings(parse_settings({"profile": "paper"}, "x"), before)
    assert {"profile", "graph.profile", "communities.start"} <= {change.key for change in paper}


def test_sizes_in_tokens_are_not_those_of_windows_of_characters() -> None:
    units = parse_settings({"profile": "paper", "text_units": {"strategy": "characters"}}, "x").text_units
    assert (units.size, units.overlap) == (200, 20)


@pytest.mark.parametrize(("content", "routing"), [({}, "rules"), ({"engine": "llm"}, "model")])
def test_the_fourth_papers_agent_is_a_model_where_one_answers(
    content: dict[str, object], routing: str
) -> None:
    given = {"profile": "paper_004", **content}
    assert parse_settings(given, "x").search.routing == routing
