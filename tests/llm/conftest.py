from collections.abc import Callable
from typing import Any

import pytest

from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.settings.model_settings import ModelSettings
from support.endpoint import ScriptedEndpoint


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def model_of() -> Callable[..., OpenAIChatModel]:
    """Makes the chat model of a scripted endpoint, or of that in the environment; keywords are model settings."""

    def make(endpoint: ScriptedEndpoint | str | None, **settings: Any) -> OpenAIChatModel:
        url = endpoint.url if isinstance(endpoint, ScriptedEndpoint) else endpoint
        chosen = {"name": "gpt-4.1-mini", "retries": 2, "timeout_seconds": 10.0, **settings}
        return OpenAIChatModel(ModelSettings(base_url=url, **chosen), first_wait=0.01)

    return make
