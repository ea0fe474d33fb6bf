"""``graphrag-dagster doctor --report``: what is needed, and neither keys nor texts."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from graphrag_dagster import __version__
from support.commands import Run
from support.corpora import write_corpus

SECRETS = ("canary-of-the-environment", "canary-of-a-header", "canary-of-a-parameter", "canary-of-a-body")


def test_what_a_bug_report_needs_is_there(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("description: What nobody else may read.\ntext_units: {size: 300}\n")
    code, out, err = run("doctor", "--report")
    assert code == 0, err
    assert out.startswith(f"graphrag-dagster {__version__}\nPython 3.")
    for words in ("dagster 1.", "duckdb ", "polars ", "spacy 3.", "plug-ins: none", "corpora: 1"):
        assert words in out
    assert "    text_units.size: 300\n" in out
    assert "corpus.documents 4," in out
    assert "  files not read: none\n" in out
    assert "  last run: index success at " in out
    assert "nobody else" not in out
    assert "Quill" not in out
    assert json.loads(run("doctor", "coast", "--report", "--json")[1])["report"].startswith(
        "graphrag-dagster "
    )


def test_files_that_were_not_read_are_counted_and_not_named(run: Run, home: Path) -> None:
    folder = write_corpus(home / "corpora")
    (folder / "secret-project.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    assert run("index", "coast")[0] == 0
    out = run("doctor", "--report")[1]
    assert "    1 .png: unsupported, no reader for .png\n" in out
    assert "secret-project" not in out


def test_no_credential_appears(run: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment, header, parameter, body = SECRETS
    monkeypatch.setenv("OPENAI_API_KEY", environment)
    monkeypatch.setenv("TEAM_TOKEN", header)
    monkeypatch.setenv("HTTPS_PROXY", f"http://reader:{quote(parameter)}@127.0.0.1:9")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://reader:{parameter}@127.0.0.1:9/v1?key={body}")
    settings = (
        "engine: llm\n"
        "model:\n"
        f"  base_url: http://127.0.0.1:9/v1\n  name: {environment}\n"
        "  headers: {X-Team: $TEAM_TOKEN}\n"
        f"  query: {{version: {parameter}}}\n"
        f"  extra_body: {{team: {body}}}\n"
    )
    write_corpus(home / "corpora", settings=settings)
    # The whole of it again where the settings cannot be used.
    write_corpus(
        home / "corpora", "other", settings=f"model: {{base_url: 'http://r:{parameter}@h/v1', x: {body}}}"
    )
    code, out, err = run("doctor", "--report")
    assert code == 0, err
    assert "model.headers.X-Team: ***" in out
    assert "model.base_url: http://127.0.0.1:9/v1" in out
    assert [secret for secret in SECRETS if secret in out + err] == []
    assert "OPENAI_API_KEY" in out
