import os
from pathlib import Path
from traceback import format_exception

import pytest

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings, load_settings, parse_settings


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
        ("engine: gpt", ["engine is 'gpt'", "'extractive', 'llm' or 'gliner-rebel'"]),
        ("model: {api_key_variable: 'sk-123 456'}", ["model.api_key_variable"]),
        ("engine: llm\ntext_units:\n  sise: 3", ["line 3: text_units.sise", "did you mean size?"]),
        ("model: {prices: {inptu: 1}}", ["model.prices.inptu is not a setting", "did you mean input?"]),
        ("model: {tasks: {judge: {nam: x}}}", ["model.tasks.judge.nam", "did you mean name?"]),
        ("model: {tasks: {jugde: {name: x}}}", ["model.tasks.jugde", "allowed: 'extract'"]),
        ("text_units: [1]", ["text_units: should be a section, with keys below it (found a list)"]),
        ("extraction: {entity_types: [no]}", ["extraction.entity_types.0: should be text", "(found false)"]),
        ("reports: {context_tokens: true}", ["true and false are not allowed here"]),
        ("a: 1\nb: 2\nc: 3\nd: 4\ne: 5", ["line 3: c", "and 2 more problems"]),
        # YAML itself
        ("a: [&x 1, *x]", ["line 1: *x is an alias, which is not allowed; write the value out"]),
        ("engine: llm\nengine: llm", ["line 2: duplicate key engine, first in line 1"]),
        ("yes: 1", ["line 1: the key yes is not text"]),
        ("? [a]\n: b", ["a list or mapping is not text"]),
        ("description: !!python/name:os.system x", ["the tag tag:yaml.org,2002:python/name:os.system"]),
        ("description: !!binary aGk=", ["the tag tag:yaml.org,2002:binary"]),
        ("description: !!int x", ["the tag tag:yaml.org,2002:int is not supported; remove it"]),
        ('description: "a\\eb"', ["a text contains a control character"]),
        ("description: a\x1bb", ["an invalid character (line 1)"]),
        ("a: 1\n---\nb: 2", ["a second document starts"]),
        ("search: {shares: {claims: .nan}}", [".nan is not a finite number"]),
        ("model: {timeout_seconds: 1.0e+999}", ["is not a finite number"]),
        ("search: {seed: " + "9" * 5000 + "}", ["is too long"]),
        ("search: {seed: 99999999999999999999}", ["search.seed"]),
        ("extraction: " + "[" * 100_000, ["nested more than 20 levels deep"]),
        ("a: " + "{b: " * 1000 + "}" * 1000, ["nested more than 20 levels deep"]),
        ("tables:\n\tx: 1", ["not valid YAML", "line 2"]),
        ("engine: " + "x" * 5000, ["engine is 'xxx", "…"]),
        ("questions: {file: ../../etc/passwd}", ["questions.file: should be a path below the corpus folder"]),
        ("questions: {file: /etc/passwd}", ["questions.file: should be a path below the corpus folder"]),
        ("questions: {file: 'C:\\q.csv'}", ["questions.file: should be a path below the corpus folder"]),
        ("extraction: {pipeline: ../model}", ["extraction.pipeline"]),
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
    assert len(str(caught.value).removeprefix(str(tmp_path))) < 1100
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_bytes(b"\xff\xfe\x00bad\xff")
    with pytest.raises(SettingsError, match="not valid YAML"):
        load_settings(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "model: sk-abcdef",
        "model: {concurrency: sk-abcdef}",
        "model: {base_url: [sk-abcdef]}",
        "model: {extra_body: sk-abcdef}",
        "model: {tasks: {judge: {reasoning: sk-abcdef}}}",
        "model: {api_key: sk-abcdef}",
        "search: {api_key: sk-abcdef}",
        "api_key: sk-abcdef\napi_key: sk-abcdef",
    ],
)
def test_what_may_be_a_credential_is_not_repeated(tmp_path: Path, text: str) -> None:
    (tmp_path / "corpus.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert "sk-abcdef" not in str(caught.value)


def test_what_is_no_file_of_settings_is_named(tmp_path: Path) -> None:
    path = tmp_path / "corpus.yaml"
    path.mkdir()
    with pytest.raises(SettingsError, match="corpus.yaml is a folder"):
        load_settings(tmp_path)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="is not a regular file"):
        load_settings(tmp_path)
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(SettingsError, match="cannot be read: No such file"):
        load_settings(tmp_path)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(100_000_000)
    with pytest.raises(SettingsError, match="has 100,000,000 bytes"):
        load_settings(tmp_path)
    with pytest.raises(SettingsError, match="cannot be read: Not a directory"):
        load_settings(path)


def test_dates_are_texts_and_so_are_times(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text(
        "description: 2024-02-30\nquestions: {ask: [12:30, '5']}", encoding="utf-8"
    )
    settings = load_settings(tmp_path)
    assert settings.description == "2024-02-30"
    assert settings.questions.ask == ["12:30", "5"]


@pytest.mark.parametrize("content", ["false", "0", "''", "[]"])
def test_what_is_empty_but_no_mapping_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "corpus.yaml").write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match="must be a mapping"):
        load_settings(tmp_path)


def test_python_may_give_no_infinite_numbers_either() -> None:
    for given in ({"communities": {"resolution": float("inf")}}, {"model": {"temperature": float("nan")}}):
        with pytest.raises(SettingsError, match="finite number"):
            parse_settings(given, "here")


def test_an_empty_file_and_a_byte_order_mark_are_fine(tmp_path: Path) -> None:
    (tmp_path / "corpus.yaml").write_text("", encoding="utf-8")
    assert load_settings(tmp_path) == CorpusSettings()
    for encoding in ("utf-8-sig", "utf-16"):
        (tmp_path / "corpus.yaml").write_text("engine: llm", encoding=encoding)
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
        ("{base_url: 'host:KEY'}", ["model.base_url is not a URL"]),
        ("{base_url: ['https://me:KEY@host/v1']}", ["model.base_url"]),
        ("{base_url: 'http://[KEY/v1'}", ["model.base_url is not a URL"]),
        ("{api_key_variable: KEY}", ["model.api_key_variable is not the name of an environment variable"]),
        ("{api_key_variable: hf_AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh}", ["api_key_variable is not the name"]),
        ("{api_key_variable: a3f9c2d17b6e4f80a3f9c2d17b6e4f80}", ["api_key_variable is not the name"]),
        ("{api_key_variable: QWERTZ12UIOP}", ["api_key_variable is not the name"]),
        ("{api_key_variable: AbCdEfGhIjKlMnOpQrStUvWx}", ["api_key_variable is not the name"]),
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
        (
            "{tasks: {answer: {api_key_variable: KEY}}}",
            ["model.tasks.answer.api_key_variable is not the name"],
        ),
        ("{tasks: {KEY: {}}}", ["model.tasks.…"]),
        ("{tasks: KEY}", ["model.tasks"]),
        ("{tasks: {embed: {name: x}}, extra_body: {note: 'KEY'}}", ["model.extra_body note looks"]),
        ("{temperature: KEY}", ["model.temperature"]),
        ("{reasoning: KEY}", ["model.reasoning"]),
        ("[KEY]", ["model: "]),
        ("{extra_body: {api_key: KEY", ["not valid YAML", "line 2, column 1"]),
    ],
)
def test_a_credential_is_refused_and_not_repeated(tmp_path: Path, text: str, words: list[str]) -> None:
    (tmp_path / "corpus.yaml").write_text("model: " + text.replace("KEY", CANARY), encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    told = "".join(format_exception(caught.value))
    for word in words:
        assert word in told
    for secret in (CANARY, CANARY[:12], "hf_AbC", "short", "a3f9c2d1", "QWERTZ", "AbCdEfGh"):
        assert secret not in told


@pytest.mark.parametrize(
    "text",
    [
        "{base_url: 'https://host.example/openai/v1?api-version=2026-01', api_key_variable: my_openai_key_2}",
        "{extra_body: {max_tokens: 5, stop_token_ids: [7], prompt_cache_key: corpus, key: 3}}",
        "{extra_body: {guided_json: {properties: {key: {type: string}, token: {type: string}}}}}",
        "{name: meta-llama/Llama-3.3-70B-Instruct, namespace: sk-learn}",
        "{name: hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M, api_key_variable: TEAM_A_OPENAI_API_KEY}",
        "{api_key_variable: AZUREOPENAIKEY2}",
        "{api_key_variable: DEPARTMENTOFSTATISTICSOPENAIKEY}",
        "{api_key_variable: OpenRouterProductionKey2026}",
        "{api_key_variable: LLM2KEY}",
    ],
)
def test_what_is_no_credential_is_taken(tmp_path: Path, text: str) -> None:
    (tmp_path / "corpus.yaml").write_text(f"model: {text}", encoding="utf-8")
    assert load_settings(tmp_path).model


@pytest.mark.parametrize(
    ("given", "size", "overlap"),
    [
        ({}, 600, 100),
        ({"strategy": "sentences"}, 600, 100),
        ({"strategy": "characters"}, 200, 20),
        ({"strategy": "characters", "size": 500}, 500, 20),
        ({"strategy": "characters", "overlap": 0}, 200, 0),
    ],
)
def test_sizes_of_text_units_are_by_default_those_of_their_strategy(
    given: dict[str, object], size: int, overlap: int
) -> None:
    units = parse_settings({"text_units": given}, "corpus.yaml").text_units
    assert (units.size, units.overlap) == (size, overlap)


def test_an_overlap_that_exceeds_the_default_size_of_the_strategy_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"overlap \(300\) must be smaller than size \(200\)"):
        parse_settings({"text_units": {"strategy": "characters", "overlap": 300}}, "corpus.yaml")


def test_defaults_are_as_if_they_were_given() -> None:
    default = CorpusSettings()
    assert repr(CorpusSettings.model_validate(default.model_dump())) == repr(default)
