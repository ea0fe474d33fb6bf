from pathlib import Path

import pytest

from graphrag_dagster.core.errors import SettingsError
from graphrag_dagster.settings import CorpusSettings, load_settings, parse_settings


def test_no_file_means_the_defaults_of_the_paper(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert (settings.text_units.size, settings.text_units.overlap) == (600, 100)
    assert settings.communities.max_cluster_size == 10
    assert settings.communities.seed == 0xDEADBEEF
    assert not settings.claims.enabled
    assert settings.engine_of("reports") == "extractive"


def test_a_stage_may_have_its_own_engine() -> None:
    settings = parse_settings({"engine": "llm", "extraction": {"engine": "extractive"}}, "corpus.yaml")
    assert settings.engine_of("extraction") == "extractive"
    assert settings.engine_of("search") == "llm"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("text_units: [", ["not valid YAML"]),
        ("- a list", ["must be a mapping"]),
        ("colour: red", ["colour is not a setting", "text_units"]),
        ("text_units: {strategy: words}", ["text_units.strategy is 'words'", "'tokens'", "'sentences'"]),
        ("text_units: {sise: 3}", ["text_units.sise is not a setting", "size"]),
        ("text_units: {size: 100, overlap: 100}", ["overlap (100) must be smaller than size (100)"]),
        ("extraction: {gleaning: {rounds: many}}", ["extraction.gleaning.rounds", "integer"]),
        ("tables: {a.csv: {body: x}}", ["tables.a.csv.body is not a setting", "text"]),
        ("engine: gpt", ["engine is 'gpt'", "'extractive' or 'llm'"]),
        ("model: {api_key_variable: 'sk-123 456'}", ["model.api_key_variable"]),
    ],
)
def test_a_broken_file_is_named_with_key_and_allowed_values(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    (tmp_path / "corpus.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    for word in [*words, "corpus.yaml"]:
        assert word in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_bytes(b"\xff\xfe\x00bad\xff")
    with pytest.raises(SettingsError, match="not valid YAML"):
        load_settings(tmp_path)


def test_an_empty_file_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("", encoding="utf-8")
    assert load_settings(tmp_path) == CorpusSettings()
    (tmp_path / "corpus.yaml").write_text("engine: llm", encoding="utf-8-sig")
    assert load_settings(tmp_path).engine == "llm"
