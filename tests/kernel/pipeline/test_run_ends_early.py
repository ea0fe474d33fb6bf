"""An index whose model has no credit left, or does not read prompts whole."""

from pathlib import Path
from typing import Any

import pytest

from graphrag_dagster.kernel.models.cache import cached_models as models
from graphrag_dagster.kernel.storage.published import published
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from support.commands import Run
from support.corpora import write_corpus
from support.endpoint import Fault, ScriptedEndpoint
from support.faults import canonical
from support.modelled import model_settings

NO_CREDIT = Fault(429, "You exceeded your current quota", "insufficient_quota")
CONNECTIONS = 4


class Account:
    """Lets so many chats be paid for."""

    def __init__(self, chats: int) -> None:
        self.left = chats

    def __call__(self, _: int, body: dict[str, Any]) -> Fault | None:
        if "messages" not in body:
            return None
        self.left -= 1
        return NO_CREDIT if self.left < 0 else None


def corpus(home: Path, endpoint: ScriptedEndpoint, more: str = "") -> Path:
    settings = model_settings(endpoint) + f"  concurrency: {CONNECTIONS}\n" + more
    return write_corpus(home / "corpora", settings=settings)


def paid(endpoint: ScriptedEndpoint) -> list[str]:
    return [canonical({"messages": one.body["messages"]}) for one in endpoint.chats if one.status == 200]


def test_without_credit_a_run_ends_at_once_and_what_was_paid_is_kept(home: Path, run: Run) -> None:
    account = Account(9)
    with ScriptedEndpoint(faults=account) as endpoint:
        corpus(home, endpoint)
        code, out, err = run("index", "coast")
        assert code == 1
        assert "no credit" in err
        assert "Traceback" not in out + err
        assert published(Warehouse(), "coast") is None
        refused = [one for one in endpoint.chats if one.status == 429]
        assert 1 <= len(refused) <= CONNECTIONS
        before = paid(endpoint)
        assert len(before) == 9
        account.left = 1_000_000
        code, out, err = run("index", "coast")
        assert code == 0, err
        assert published(Warehouse(), "coast") is not None
        after = paid(endpoint)[len(before) :]
        assert after
        assert not set(before) & set(after)
        account.left = 0
        code, out, err = run("ask", "coast", "Who keeps the light?", "--method", "local")
        assert (code, "no credit" in err) == (1, True)
        assert "Traceback" not in out + err


LINES = [f"Ann {chr(65 + n)}ee keeps the light at Port Ellery with Bo Ray in {1900 + n}." for n in range(26)]


def test_a_prompt_that_is_read_in_part_ends_the_run_until_it_fits(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "_longest", {})
    with ScriptedEndpoint(context_tokens=1200, overflow="truncate") as endpoint:
        folder = home / "corpora" / "light"
        folder.mkdir()
        (folder / "light.txt").write_text(" ".join(LINES * 3), encoding="utf-8")
        (folder / "corpus.yaml").write_text(
            "engine: llm\nextraction: {gleaning: {rounds: 0}}\ntext_units: {size: 3000}\n"
            f"model: {{base_url: '{endpoint.url}', name: scripted, retries: 1}}\n",
            encoding="utf-8",
        )
        for _ in range(2):
            code, out, err = run("index", "light")
            told = " ".join((out + err).split())
            assert code == 1, told
            assert "read only 1,200 of about" in told
            assert "OLLAMA_CONTEXT_LENGTH" in told
            assert "doctor CORPUS --fix" in told
        # What arrived in part is not taken for good.
        cut = endpoint.chats[1].body["messages"]
        endpoint.capabilities = type(endpoint.capabilities)()
        asked = len(endpoint.chats)
        assert run("index", "light")[0] == 0
        assert cut in [one.body["messages"] for one in endpoint.chats[asked:]]
        asked = len(endpoint.chats)
        assert run("index", "light")[0] == 0
        assert len(endpoint.chats) == asked
