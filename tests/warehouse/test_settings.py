from pathlib import Path
from traceback import format_exception

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


CANARY = "sk-canary-4071-nobody-may-see-this"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "{base_url: 'https://me:KEY@host/v1'}",
            ["model.base_url holds a user or a password", "OPENAI_BASE_URL"],
        ),
        ("{base_url: 'https://KEY@host/v1'}", ["model.base_url holds a user or a password"]),
        ("{base_url: 'https://host/v1?api_key=KEY'}", ["model.base_url holds a key (api_key)"]),
        ("{base_url: 'https://host/v1?x=1&Access-Token=KEY'}", ["holds a key (Access-Token)"]),
        ("{base_url: 'https://host/KEY/v1'}", ["model.base_url holds a key"]),
        ("{base_url: 'host:KEY'}", ["model.base_url is no URL"]),
        ("{base_url: ['https://me:KEY@host/v1']}", ["model.base_url"]),
        ("{base_url: 'http://[KEY/v1'}", ["model.base_url is no URL"]),
        ("{api_key_variable: KEY}", ["model.api_key_variable is no name of an environment variable"]),
        ("{api_key_variable: hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh}", ["api_key_variable is no name"]),
        ("{api_key_variable: [KEY]}", ["model.api_key_variable"]),
        ("{api_key: KEY}", ["model.api_key is not a setting; put the key into an environment variable"]),
        ("{KEY: 1}", ["model.… is not a setting"]),
        ("{name: KEY}", ["model.name looks like a key"]),
        ("{namespace: 'Bearer KEY'}", ["model.namespace looks like a key"]),
        ("{extra_body: {api_key: KEY}}", ["model.extra_body api_key looks like a key"]),
        ("{extra_body: {a: [{Authorization: short}]}}", ["a.Authorization looks like a key"]),
        ("{extra_body: {a: [x, 'Bearer KEY']}}", ["model.extra_body a looks like a key"]),
        ("{extra_body: KEY}", ["model.extra_body"]),
        (
            "{tasks: {answer: {base_url: 'https://me:KEY@host'}}}",
            ["model.tasks.answer.base_url holds a user"],
        ),
        ("{tasks: {answer: {extra_body: {token: KEY}}}}", ["model.tasks.answer.extra_body token looks"]),
        ("{tasks: {answer: {api_key_variable: KEY}}}", ["model.tasks.answer.api_key_variable is no name"]),
        ("{tasks: {KEY: {}}}", ["model.tasks.…"]),
        ("{tasks: KEY}", ["model.tasks"]),
        ("{tasks: {embed: {name: x}}, extra_body: {note: 'KEY'}}", ["model.extra_body note looks"]),
        ("{temperature: KEY}", ["model.temperature"]),
        ("{reasoning: KEY}", ["model.reasoning"]),
        ("[KEY]", ["model: "]),
        ("{extra_body: {api_key: KEY", ["not valid YAML", "line 1"]),
    ],
)
def test_a_credential_is_refused_and_not_repeated(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "corpus.yaml").write_text("model: " + text.replace("KEY", CANARY), encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    told = "".join(format_exception(caught.value))
    for word in words:
        assert word in told
    for secret in (CANARY, CANARY[:12], "hf_AbC", "short"):
        assert secret not in told


@pytest.mark.parametrize(
    "text",
    [
        "{base_url: 'https://host.example/openai/v1?api-version=2026-01', api_key_variable: my_openai_key_2}",
        "{extra_body: {max_tokens: 5, stop_token_ids: [7], prompt_cache_key: corpus, key: 3}}",
        "{extra_body: {guided_json: {properties: {key: {type: string}, token: {type: string}}}}}",
        "{name: meta-llama/Llama-3.3-70B-Instruct, namespace: sk-learn}",
        "{name: hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M, api_key_variable: TEAM_A_OPENAI_API_KEY}",
    ],
)
def test_what_is_no_credential_is_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "corpus.yaml").write_text(f"model: {text}", encoding="utf-8")
    assert load_settings(tmp_path).model
