"""Short ways to ask a scripted endpoint with the ordinary client."""

from typing import Any

import openai

from support.endpoint import ScriptedEndpoint
from support.serve import ServedEndpoint

HI = [{"role": "user", "content": "Say hi to everyone."}]


def client(endpoint: ScriptedEndpoint | ServedEndpoint) -> openai.OpenAI:
    return openai.OpenAI(base_url=endpoint.url, api_key="none", max_retries=0, timeout=5)


def chat(endpoint: ScriptedEndpoint | ServedEndpoint, **more: Any) -> Any:
    return client(endpoint).chat.completions.create(**{"model": "scripted", "messages": HI, **more})


def ten_words(_: dict[str, Any]) -> str:
    """A script."""
    return "one two three four five six seven eight nine ten"
