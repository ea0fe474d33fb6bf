"""What the doctor says of a server that is not there or loads, and the settings that it writes."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from graphrag_dagster.cli.commands.doctor_commands import doctor
from graphrag_dagster.cli.result import show
from graphrag_dagster.errors import CorpusError, SettingsError
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint import request_bodies as bodies
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.probing.capability_probes import Unusable, first_contact
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from graphrag_dagster.kernel.settings.settings_editing import with_values, write_settings
from support.endpoint import Fault, ScriptedEndpoint


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_known", {})


def corpus(home: Path, url: str, more: str = "") -> Path:
    folder = home / "corpora" / "letters"
    folder.mkdir(parents=True)
    (folder / "corpus.yaml").write_text(
        f"# Letters of a town.\nengine: llm   # a small model\nmodel:\n  # on this machine\n  base_url: {url}\n{more}",
        encoding="utf-8",
    )
    return folder / "corpus.yaml"


@pytest.mark.parametrize("overflow", ["truncate", "error"])
def test_sizes_that_fit_a_context_are_written_and_then_it_works(
    home: Path, capsys: pytest.CaptureFixture[str], overflow: Any
) -> None:
    with ScriptedEndpoint(context_tokens=8192, overflow=overflow, obey_limit=True) as endpoint:
        file = corpus(home, endpoint.url, "reports: {engine: llm}\n")
        assert show(doctor("letters"), as_json=False) == 1
        told = capsys.readouterr().out
        assert "recommended settings" in told
        assert "doctor letters --fix writes them" in told
        before = file.read_text(encoding="utf-8")
        assert show(doctor("letters", fix=True), as_json=False) == 1
        after = file.read_text(encoding="utf-8")
        for comment in ("# Letters of a town.", "# a small model", "  # on this machine"):
            assert comment in after
        assert set(before.replace("reports: {engine: llm}\n", "").splitlines()) <= set(after.splitlines())
        found = yaml.safe_load(after)
        assert found["reports"]["engine"] == "llm"
        assert 1000 < found["reports"]["context_tokens"] < 6000
        assert found["search"]["context_tokens"] == found["reports"]["context_tokens"]
        assert 1500 <= found["model"]["max_output_tokens"] <= 2000
        capsys.readouterr()
        assert show(doctor("letters"), as_json=True) == 0
        [length] = [
            one for one in json.loads(capsys.readouterr().out)["findings"] if one["probe"] == "context length"
        ]
        assert length["verdict"] == "works"


def test_a_model_that_is_not_there_is_replaced_by_the_only_one(home: Path) -> None:
    with ScriptedEndpoint(models=["llama3:8b"], strict_models=True, obey_limit=True) as endpoint:
        file = corpus(home, endpoint.url, "  name: gpt-4.1-mini   # to be changed\n")
        assert show(doctor("letters", fix=True), as_json=True) == 1
        assert '  name: "llama3:8b"   # to be changed\n' in file.read_text(encoding="utf-8")
        assert show(doctor("letters"), as_json=True) == 0


def test_what_is_written_needs_a_corpus(home: Path) -> None:
    with pytest.raises(CorpusError, match="needs the name of a corpus"):
        show(doctor(None, fix=True), as_json=False)


def test_a_server_that_is_not_there_is_told_with_its_port() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        unused = free.getsockname()[1]
        url = f"http://127.0.0.1:{unused}/v1"
        model = OpenAIChatModel(ModelSettings(base_url=url, name="m", retries=0), first_wait=0.01)
        with pytest.raises(Unusable) as caught:
            run_one(first_contact(model))
    [finding] = caught.value.findings
    assert f"cannot reach {url}" in finding.found
    assert "set model.base_url" in finding.found


def test_a_server_that_loads_is_not_waited_for_by_the_doctor(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loading = Fault(503, "Loading model", "unavailable_error")
    with ScriptedEndpoint(faults=lambda *_: loading) as endpoint:
        corpus(home, endpoint.url)
        assert show(doctor("letters"), as_json=True) == 1
    [first, *_] = json.loads(capsys.readouterr().out)["findings"]
    assert "Loading model" in first["found"]
    assert "run again when it is less busy" in first["found"]


@pytest.mark.parametrize(
    ("before", "values", "after"),
    [
        ("", {"a.b": 1}, "a:\n  b: 1\n"),
        ("# only words", {"a.b": 1}, "# only words\na:\n  b: 1\n"),
        ("a:\n  b: 2  # two\n", {"a.b": 1}, "a:\n  b: 1  # two\n"),
        ("a: {b: 2, c: x}  # two\n", {"a.b": 1}, "a: {b: 1, c: x}  # two\n"),
        ("a: {}\n", {"a.b": 1}, "a: {b: 1}\n"),
        ("a: {c: x}\n", {"a.b": 1, "a.d": True}, "a: {d: true, b: 1, c: x}\n"),
        ("a:\n    # deep\n    c: x\nz: 1\n", {"a.b": 1}, "a:\n    # deep\n    b: 1\n    c: x\nz: 1\n"),
        ("a:\nz: 1\n", {"a.b": 1}, "a: {b: 1}\nz: 1\n"),
        ("a: # nothing yet\n", {"a.b": 1}, "a: {b: 1} # nothing yet\n"),
        ('{"a": {"b": 2}}', {"a.b": 1, "e": "x: y"}, '{e: "x: y", "a": {"b": 1}}'),
        ("z: 1", {"a.b.c": 1}, "z: 1\na:\n  b:\n    c: 1\n"),
        ("a:\n  - x\n", {"q": 1}, "a:\n  - x\nq: 1\n"),
        ("über: ä # ö\na: {b: 2}\n", {"a.b": 1}, "über: ä # ö\na: {b: 1}\n"),
    ],
)
def test_values_are_set_in_their_place(before: str, values: dict[str, Any], after: str) -> None:
    assert with_values(before, values) == after
    assert with_values(after, values) == after


def test_a_value_without_a_place_or_of_no_use_leaves_the_file(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="set it by hand"):
        with_values("a: [1]\n", {"a.b": 1})
    file = tmp_path / "corpus.yaml"
    file.write_text("engine: llm\n", encoding="utf-8")
    with pytest.raises(SettingsError, match="corpus.yaml"):
        write_settings(tmp_path, {"text_units.size": -1})
    assert file.read_text(encoding="utf-8") == "engine: llm\n"
    assert [one.name for one in tmp_path.iterdir()] == ["corpus.yaml"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a: 1\r\n# x\r\nengine: llm\r\n", b"a: 1\r\n# x\r\nengine: extractive\r\n"),
        (b"\xef\xbb\xbfengine: llm\n", b"\xef\xbb\xbfengine: extractive\n"),
        (b"engine: llm # one\r\n# two\n", b"engine: extractive # one\r\n# two\n"),
        (b"# x\r\n", b"# x\r\nengine: extractive\r\n"),
    ],
)
def test_bytes_around_a_value_stay(tmp_path: Path, before: bytes, after: bytes) -> None:
    own, link = tmp_path / "own.yaml", tmp_path / "corpus.yaml"
    own.write_bytes(before.replace(b"a: 1", b"description: x"))
    own.chmod(0o640)
    link.symlink_to(own)
    write_settings(tmp_path, {"engine": "extractive"})
    assert own.read_bytes().replace(b'"extractive"', b"extractive") == after.replace(
        b"a: 1", b"description: x"
    )
    assert link.is_symlink()
    assert own.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("content", ["engine: caf\u00e9".encode("latin-1"), b"a: [1\n", b"a: b: c\n"])
def test_a_file_that_cannot_be_read_is_one_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "corpus.yaml").write_bytes(content)
    with pytest.raises(SettingsError, match=r"corpus\.yaml cannot be edited: [^\n]+$"):
        write_settings(tmp_path, {"engine": "llm"})
    assert (tmp_path / "corpus.yaml").read_bytes() == content


def test_lines_to_paste_are_yaml() -> None:
    assert with_values("", {"a.b": 1, "a.c": "x: y", "d": False}) == "a:\n  c: 'x: y'\n  b: 1\nd: false\n"
