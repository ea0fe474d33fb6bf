"""The doctor: probes every model in the settings with about a dozen small calls."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from graphrag_dagster.apps.planning.load_probes import context_length
from graphrag_dagster.errors import EndpointError, VectorLengthError
from graphrag_dagster.kernel.catalogue import registry
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore
from graphrag_dagster.kernel.models.chat.chat_model import CallFailed
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import OpenAIChatModel
from graphrag_dagster.kernel.models.endpoint.endpoint_embeddings import OpenAIEmbedder
from graphrag_dagster.kernel.models.endpoint.request_bodies import (
    Capabilities,
    capabilities_of,
    set_capabilities,
)
from graphrag_dagster.kernel.models.probing.capability_probes import (
    ENTITY_MODEL,
    RELATION_MODEL,
    RERANKER,
    ProbeFinding,
    Unusable,
    first_contact,
    json_modes,
    output_limit,
    reasoning,
)
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import ModelSettings, RoleName

Verdict = Literal["ready", "usable", "unusable"]
Probe = Callable[[], Awaitable[list[ProbeFinding]]]

#: Without these nothing good comes of a run.
_NEEDED = frozenset({"reachable", "model", "chat", "JSON", "context length", "embeddings"})
_NEEDED |= {RERANKER, ENTITY_MODEL, RELATION_MODEL}
_RETRIES = 1


async def examine(
    settings: CorpusSettings,
    data: Mapping[RoleName, int] | None = None,
    vector_length: int | None = None,
) -> list[ProbeFinding]:
    """Probe every distinct model that the settings use, and no other; what fails is a finding, no error.

    Args:
        settings: of the corpus.
        data: most tokens of data in a prompt of a task; see :func:`context_length`.
        vector_length: numbers of the index's vectors by this embedding model; None: there are none.

    Returns:
        The findings, model by model; each names its endpoint. None where nothing asks a model.
    """
    if not asks_models(settings):
        return []
    findings: list[ProbeFinding] = []
    for own, tasks in _models(settings):
        model = OpenAIChatModel(_with_fewer_retries(own))
        # Who asks for a diagnosis is told that a server is busy, and does not wait for it.
        model.connection.patience = 0.0
        label = f"{own.name} at {model.connection.shown_url} ({', '.join(tasks)})"
        findings += _label_findings(label, await _run_probes(model, settings, tasks, data))
    own = _with_fewer_retries(settings.model.for_role("embed"))
    embeddings = partial(_embeddings, settings, own, vector_length)
    vectors = await _run_guarded("embeddings", embeddings)
    return findings + _label_findings("vectors of text units, entities and reports", vectors)


def asks_models(settings: CorpusSettings) -> bool:
    """Whether anything that is done with a corpus of these settings asks a model at an endpoint."""
    return bool(_tasks(settings)) or settings.embeds_at_endpoint


def verdict(findings: Sequence[ProbeFinding]) -> Verdict:
    """Return whether the settings can be used: as they are, with fallbacks, or not at all."""
    if any(one.verdict == "fails" and one.probe in _NEEDED for one in findings):
        return "unusable"
    return "usable" if any(one.verdict in {"fails", "fallback"} for one in findings) else "ready"


def remember(settings: CorpusSettings, store: CapabilityStore) -> None:
    """Keep what :func:`examine` found out, so that the next run need not ask."""
    for own, _ in _models(settings):
        model = OpenAIChatModel(own)
        connection = model.connection
        store.put(connection.shown_url, own.name, capabilities_of(connection.url, own.name))


def _models(settings: CorpusSettings) -> list[tuple[ModelSettings, list[RoleName]]]:
    found: dict[tuple[str, str], tuple[ModelSettings, list[RoleName]]] = {}
    for task in _tasks(settings):
        own = settings.model.for_role(task)
        where = (OpenAIChatModel(own).connection.url, own.name)
        found.setdefault(where, (own, []))[1].append(task)
    return list(found.values())


def _with_fewer_retries(own: ModelSettings) -> ModelSettings:
    return own.model_copy(update={"retries": min(own.retries, _RETRIES)})


def _tasks(settings: CorpusSettings) -> list[RoleName]:
    used = settings.roles_asked
    return [role for role in registry.roles() if role in used]


async def _run_probes(
    model: OpenAIChatModel,
    settings: CorpusSettings,
    tasks: list[RoleName],
    data: Mapping[RoleName, int] | None,
) -> list[ProbeFinding]:
    set_capabilities(model.connection.url, model.name, Capabilities())

    probes: list[tuple[str, Probe]] = [
        ("reachable", partial(first_contact, model)),
        ("hidden reasoning", partial(reasoning, model)),
        ("JSON", partial(json_modes, model)),
        ("output limit", partial(output_limit, model)),
        ("context length", partial(context_length, model, settings, tasks, data)),
    ]
    findings: list[ProbeFinding] = []
    while probes:
        name, probe = probes.pop(0)
        try:
            findings += await _run_guarded(name, probe)
        except Unusable as unusable:
            findings += unusable.findings
            return findings + [
                ProbeFinding(left, "skipped", "the endpoint is unusable") for left, _ in probes
            ]
    return findings + _fallback_findings(capabilities_of(model.connection.url, model.name))


async def _run_guarded(name: str, probe: Probe) -> list[ProbeFinding]:
    """Run a probe; what it raises becomes its finding."""
    try:
        return await probe()
    except Unusable:
        raise
    except EndpointError as error:
        raise Unusable(ProbeFinding("chat", "fails", f"{name}: {error}")) from None
    except Exception as error:
        # A diagnosis is to be finished whatever turns up on the way.
        text = str(error) if isinstance(error, CallFailed) else f"{type(error).__name__}: {error}"
        return [ProbeFinding(name, "fails", text, "no conclusion is drawn from this")]


def _fallback_findings(known: Capabilities) -> list[ProbeFinding]:
    left: list[ProbeFinding] = []
    if not known.temperature:
        text = "is omitted: replies vary more between runs"
        left.append(ProbeFinding("temperature", "fallback", "refused", text))
    if not known.effort:
        left.append(ProbeFinding("reasoning effort", "fallback", "refused", "is omitted"))
    return left


async def _embeddings(
    settings: CorpusSettings, own: ModelSettings, vector_length: int | None
) -> list[ProbeFinding]:
    name, chosen = "embeddings", settings.embeddings
    if not settings.embeds_at_endpoint:
        return [
            ProbeFinding(
                name, "skipped", f"embeddings.embedder is {chosen.embedder}", "computed on this machine"
            )
        ]
    if not chosen.model:
        return [ProbeFinding(name, "fails", "no model is set", "set embeddings.model")]
    embedder = OpenAIEmbedder(chosen.model, own)
    embedder.connection.patience = 0.0
    try:
        vectors = await asyncio.to_thread(embedder.embed, ["a harbour town", "a ship at sea"])
    except EndpointError as error:
        mend = "set embeddings.model, or embeddings.embedder: static, which needs no endpoint"
        return [ProbeFinding(name, "fails", str(error), mend)]
    found = vectors.shape[1]
    if vector_length not in {None, found}:
        return [ProbeFinding(name, "fails", str(VectorLengthError(found, vector_length, chosen.model)))]
    return [ProbeFinding(name, "works", f"{chosen.model}: vectors of {found} numbers")]


def _label_findings(label: str, findings: Iterable[ProbeFinding]) -> list[ProbeFinding]:
    return [replace(one, endpoint=label) for one in findings]
