"""Credentials are planted wherever they may stand, and looked for in all bytes that are made and printed."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from graphrag_dagster.kernel.models import batch_queue as batching
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.corpora import write_corpus
from support.endpoint import Fault, Scripted, ScriptedEndpoint, name_pattern_script
from support.tables_of import contents

KEY = "sk-canary/8812+nobody-may-see-this"
PASSWORD = "canary:pass/word+5521-of-nobody"
FORMS = [
    form
    for secret in (KEY, PASSWORD, f"reader:{PASSWORD}")
    for form in (secret, quote(secret, safe=""), base64.b64encode(secret.encode()).decode().rstrip("="))
]
COMMANDS = [
    ("doctor", "coast"),
    ("doctor", "coast", "--report"),
    ("doctor", "--report"),
    ("plan", "coast"),
    ("index", "coast"),
    ("status", "coast", "--json"),
    ("status", "coast"),
    ("ask", "coast", "Who led the Dockers Union?"),
    ("corpora",),
    ("show", "coast", "--json"),
    ("batches",),
    ("cache", "stats"),
    ("cache", "export", "replies.jsonl"),
    ("snapshots", "coast"),
]


def seen(text: str | bytes) -> list[str]:
    """The forms of the secrets that a text holds."""
    content = text if isinstance(text, bytes) else text.encode()
    return [form for form in FORMS if form.encode() in content]


def bytes_made(home: Path) -> bytes:
    """All bytes below a home but those of the corpora, names of files among them."""
    files = [file for file in sorted(home.rglob("*")) if home / "corpora" not in file.parents]
    names = "\n".join(map(str, files)).encode()
    return names + b"".join(file.read_bytes() for file in files if file.is_file())


def all_of_it(run: Run, home: Path) -> str:
    told = "".join("".join(map(str, run(*command))) for command in COMMANDS)
    assert "Traceback" not in told
    assert seen(told) == []
    assert seen(bytes_made(home)) == []
    return told


@pytest.mark.parametrize(
    "model",
    [
        f"{{base_url: 'http://reader:{quote(PASSWORD, safe='')}@127.0.0.1:9/v1'}}",
        f"{{base_url: 'http://127.0.0.1:9/v1?api_key={quote(KEY, safe='')}'}}",
        f"{{base_url: 'http://127.0.0.1:9/v1', extra_body: {{headers: {{x-api-key: '{KEY}'}}}}}}",
        f"{{base_url: 'http://127.0.0.1:9/v1', api_key_variable: '{KEY}'}}",
        f"{{base_url: 'http://127.0.0.1:9/v1', api_key: '{KEY}'}}",
    ],
)
def test_a_credential_in_the_settings_goes_nowhere(run: Run, home: Path, model: str) -> None:
    write_corpus(home / "corpora", settings=f"engine: llm\nmodel: {model}\n")
    assert "environment" in all_of_it(run, home)


@pytest.mark.parametrize("batch", [False, True])
def test_what_an_endpoint_repeats_of_a_credential_goes_nowhere(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch, batch: bool
) -> None:
    echoed = " ".join(FORMS)

    def faults(number: int, body: dict[str, Any]) -> Fault | None:
        if "Hanna Quill accused" in str(body.get("messages")):
            return Fault(400, f"no, {echoed}")
        return {6: Fault(500, echoed), 9: Fault(429, echoed, headers={"Retry-After": "0"})}.get(number)

    def script(body: dict[str, Any]) -> Scripted | str:
        return f"Who are you? {echoed}" if "Piet Lund of" in str(body) else name_pattern_script(body)

    with ScriptedEndpoint(script, faults=faults) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setattr(batching, "QUIET_SECONDS", 0.1)
        url = endpoint.url.replace("http://", f"http://reader:{quote(PASSWORD, safe='')}@")
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        write_corpus(
            home / "corpora",
            settings="engine: llm\ntext_units: {strategy: sentences, size: 40, overlap: 0}\n"
            "embeddings: {embedder: endpoint, model: vectors}\n"
            f"model: {{name: scripted, batch: {str(batch).lower()}}}\n",
        )
        told = all_of_it(run, home)
        assert endpoint.requests
    if not batch:
        assert "***" in told
        assert seen(repr(contents(Warehouse(), "coast"))) == []
