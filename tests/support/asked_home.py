"""A home whose corpus ``coast`` is answered by a scripted model."""

from collections.abc import Callable
from pathlib import Path

from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint
from support.homes import copy_home
from support.probes import probe_reply

_SETTINGS = 'model: {{base_url: "{}", name: scripted}}\nsearch: {{engine: llm, general_knowledge: true}}\n'


def answering_endpoint(answer: Callable[[str], str], *, seconds_per_token: float = 0.0) -> ScriptedEndpoint:
    """Return an endpoint that answers questions so, and the small questions of a client as these ask for it."""

    def script(body: dict[str, object]) -> str:
        return probe_reply(body) or answer(str(body["messages"]))

    return ScriptedEndpoint(script, seconds_per_token=seconds_per_token)


def write_asked_home(indexed: Path, folder: Path, endpoint: ScriptedEndpoint) -> Path:
    """Put an indexed home into a folder, with questions answered by the endpoint's model; gives the folder."""
    home = copy_home(indexed, folder)
    write_corpus(home / "corpora", settings=_SETTINGS.format(endpoint.url))
    return home
