"""``graphrag-dagster doctor``."""

import os
import uuid
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import groupby
from operator import attrgetter
from typing import Any

from rich.markup import escape
from rich.table import Table as RichTable

from graphrag_dagster.apps.planning.doctor import asks_models, examine, remember, verdict
from graphrag_dagster.apps.planning.indexing_plan import largest_data
from graphrag_dagster.cli.console import ERR, OUT, print_json, table_of
from graphrag_dagster.errors import CorpusError, EndpointError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import engines, load_target, plugin_errors, rerankers
from graphrag_dagster.kernel.models.cache.cache_database import own_database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, LLMCache, User
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_address import BASE_URL
from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
from graphrag_dagster.kernel.retrieval.rerankers import probe_reranker
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.settings.settings_editing import lines_of, write_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import reading
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import TEXT_UNIT_EMBEDDINGS
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

_COLOURS = {"works": "green", "fallback": "yellow", "fails": "red", "skipped": "dim"}
_LINES = {
    "ready": "[green]ready[/]: everything needed works",
    "usable": "[yellow]usable[/]: see the last column for fallbacks and recommended settings",
    "unusable": "[red]not usable[/]: fix the failed probes, then run doctor again",
}


def doctor(target: str | None, *, fix: bool = False, as_json: bool) -> int:
    """Probe the models of a corpus, or the endpoint that the environment names, and print it.

    Returns:
        The exit code: 0 ready, usable or not needed, 1 hopeless.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used, or not be written.
        EndpointError: no endpoint is named.
    """
    if fix and target is None:
        raise CorpusError("--fix needs the name of a corpus")
    name = None if target is None else CorpusStore().resolve(target)
    settings = _settings_from_environment() if name is None else CorpusStore().settings(name)
    reranked = bool(rerankers()[settings.search.chosen_reranker].packages)
    local = engines()[settings.engine_of("extraction")].examined
    if not as_json and not asks_models(settings) and not reranked and not local:
        OUT.say(f"{escape(str(name))}: no model is used, so there is nothing to probe; nothing was sent")
        return 0
    if not as_json and asks_models(settings):
        ERR.print("sending a dozen small calls to each model; a slow one takes a minute", style="dim")
    findings = run_one(examine(settings, _largest_data(name), _vector_length(settings, name)))
    findings += _reranker(settings, str(name)) if reranked else []
    where = "entities and relationships of text units, on this machine"
    if local:
        with plugin_errors("engine", settings.engine_of("extraction"), "examining its models"):
            findings += [replace(one, endpoint=where) for one in load_target(local)(settings)]
    outcome = verdict(findings)
    if outcome != "unusable":
        remember(settings, CapabilityStore(own_database()))
    advised = {key: value for one in findings for key, value in one.settings.items()}
    if as_json:
        if fix and name and advised:
            write_settings(CorpusStore().folder(name), advised)
        print_json({"corpus": name, "verdict": outcome, "findings": [asdict(one) for one in findings]})
    else:
        for endpoint, group in groupby(findings, key=attrgetter("endpoint")):
            OUT.print(_table(endpoint, list(group)))
        OUT.say(_LINES[outcome])
        _advise(name, advised, fix=fix)
    return 1 if outcome == "unusable" else 0


def _advise(name: str | None, advised: dict[str, Any], *, fix: bool) -> None:
    """Print the settings that fit what was found, and write them where that is wanted."""
    if not advised:
        if fix:
            OUT.say("no setting fixes the problems found; nothing was written")
        return
    if fix and name:
        path = write_settings(CorpusStore().folder(name), advised)
        OUT.say(f"written into {escape(str(path))}:")
    else:
        OUT.print("recommended settings for corpus.yaml:")
    OUT.say(lines_of(advised), markup=False, highlight=False)
    if fix:
        OUT.say("other settings are unchanged; run doctor again to check")
    elif name:
        OUT.say(f"graphrag-dagster doctor {escape(name)} --fix writes them")


def _session(settings: CorpusSettings, name: str) -> TaskProvider:
    language = Language(memory=LLMCache(), corpora=CorpusStore())
    return language.session_of(settings, User(name, "ask", str(uuid.uuid4())))


def _reranker(settings: CorpusSettings, name: str) -> list[ProbeFinding]:
    where = "text units found, before they are read"
    return [replace(one, endpoint=where) for one in probe_reranker(_session(settings, name).reranker)]


def _vector_length(settings: CorpusSettings, name: str | None) -> int | None:
    """How many numbers the index's vectors have, where the embedding model of the settings made them."""
    if name is None or not (settings.embeds_at_endpoint and settings.embeddings.model):
        return None
    with suppress(WarehouseError), reading(Warehouse(), name) as (reader, _):
        if reader.has(TEXT_UNIT_EMBEDDINGS):
            one = reader.connection.table(TEXT_UNIT_EMBEDDINGS.full_name).limit(1)
            rows = one.project("embedder, len(vector::float[])").fetchall()
            return dict(rows).get(_session(settings, name).embedder().name)
    return None


def _settings_from_environment() -> CorpusSettings:
    if not os.environ.get(BASE_URL):
        raise EndpointError(
            f"no endpoint is configured: name a corpus whose corpus.yaml has engine: llm, or set {BASE_URL}"
        )
    return CorpusSettings(engine="llm")


def _largest_data(name: str | None) -> dict[RoleName, int] | None:
    """How much the prompts of a corpus hold; None where there are no documents yet."""
    with suppress(CorpusError):
        return largest_data(name) if name else None
    return None


def _table(endpoint: str, findings: list[ProbeFinding]) -> RichTable:
    table = table_of("probe", "", "found", "consequence", title=escape(endpoint))
    for one in findings:
        outcome = f"[{_COLOURS[one.verdict]}]{one.verdict}[/]"
        table.add_row(one.probe, outcome, escape(one.found), escape(one.consequence))
    return table
