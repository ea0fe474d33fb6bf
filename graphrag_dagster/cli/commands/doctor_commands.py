"""``graphrag-dagster doctor``."""

import os
import uuid
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

import polars as pl
import typer
from rich.text import Text

from graphrag_dagster.apps.planning.doctor import asks_models, examine, remember, verdict
from graphrag_dagster.apps.planning.indexing_plan import largest_data
from graphrag_dagster.cli.console import ERR
from graphrag_dagster.cli.result import Frame, Part, Result
from graphrag_dagster.errors import CorpusError, EndpointError, WarehouseError
from graphrag_dagster.kernel.catalogue.registry import (
    engines,
    installed_plugins,
    load_target,
    plugin_errors,
    rerankers,
)
from graphrag_dagster.kernel.models.cache.cache_database import own_database
from graphrag_dagster.kernel.models.cache.llm_cache import CapabilityStore, LLMCache, User
from graphrag_dagster.kernel.models.chat.concurrent_calls import run_one
from graphrag_dagster.kernel.models.endpoint.endpoint_address import BASE_URL
from graphrag_dagster.kernel.models.probing.capability_probes import ProbeFinding
from graphrag_dagster.kernel.retrieval.rerankers import probe_reranker
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.model_settings import RoleName
from graphrag_dagster.kernel.settings.settings_editing import with_values, write_settings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import reading
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables.core_tables import TEXT_UNIT_EMBEDDINGS
from graphrag_dagster.kernel.tasks.language_resource import Language
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider

_STYLES = {"works": None, "fallback": "yellow", "fails": "red", "skipped": "dim"}
_PLUGIN = dict.fromkeys(("name", "package", "problem"), pl.String)
_PROBE = ("probe", "verdict", "found", "consequence")
_LINES = {
    "ready": ("ready", "green", ": everything needed works"),
    "usable": ("usable", "yellow", ": see the last column for fallbacks and recommended settings"),
    "unusable": ("not usable", "red", ": fix the failed probes, then run doctor again"),
}


def doctor(
    target: Annotated[
        str | None,
        typer.Argument(help="Corpus or folder to probe for; default: $OPENAI_BASE_URL.", metavar="NAME|PATH"),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Write the recommended settings into corpus.yaml.")
    ] = False,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Print what a bug report needs, without keys and texts. Sends nothing."
        ),
    ] = False,
) -> Result:
    """List plug-ins, and probe the models of a corpus, or the endpoint that the environment names.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used, or not be written.
        EndpointError: no endpoint is named.
    """
    if report:
        from graphrag_dagster.cli.bug_report import bug_report

        if fix:
            raise typer.BadParameter("--report writes nothing; drop --fix")
        return bug_report(target)
    if fix and target is None:
        raise CorpusError("--fix needs the name of a corpus")
    rows = [attrgetter(*_PLUGIN)(one) for one in installed_plugins()]
    plugins = pl.DataFrame(rows, _PLUGIN, orient="row")
    shown: list[Part] = [_plugin_table(plugins)] if plugins.height else []
    broken = int(plugins["problem"].count() > 0)
    if target is None and not os.environ.get(BASE_URL):
        if not plugins.height:
            raise EndpointError(
                "there is nothing to probe: no plug-in is installed and no endpoint is configured; name a "
                f"corpus whose corpus.yaml has engine: llm, or set {BASE_URL}"
            )
        return Result({"plugins": plugins}, shown, code=broken)
    name = None if target is None else CorpusStore().resolve(target)
    settings = CorpusSettings(engine="llm") if name is None else CorpusStore().settings(name)
    findings = _findings(settings, name)
    outcome = verdict(findings)
    facts = {"corpus": name, "verdict": outcome, "findings": findings, "plugins": plugins}
    if not findings:
        text = f"{name}: no model is used, so there is nothing to probe; nothing was sent"
        return Result(facts, [*shown, text], code=broken)
    if outcome != "unusable":
        remember(settings, CapabilityStore(own_database()))
    advised = {key: value for one in findings for key, value in one.settings.items()}
    shown += [_table(endpoint, list(group)) for endpoint, group in groupby(findings, attrgetter("endpoint"))]
    word, style, rest = _LINES[outcome]
    shown += [Text.assemble((word, style), rest), *_advice(name, advised, fix=fix)]
    return Result(facts, shown, code=1 if outcome == "unusable" else broken)


def _plugin_table(plugins: pl.DataFrame) -> Frame:
    state = pl.format("left out: {}", "problem").fill_null("in use").alias("state")
    return Frame(plugins.select(pl.exclude("problem"), state), bare=True)


def _findings(settings: CorpusSettings, name: str | None) -> list[ProbeFinding]:
    """Probe what the settings use; empty where they use no model."""
    found: list[ProbeFinding] = []
    if asks_models(settings):
        ERR.print("sending a dozen small calls to each model; a slow one takes a minute", style="dim")
        found += run_one(examine(settings, _largest_data(name), _vector_length(settings, name)))
    if rerankers()[settings.search.chosen_reranker].packages:
        found += _reranker(settings, str(name))
    if local := engines()[settings.engine_of("extraction")].examined:
        where = "entities and relationships of text units, on this machine"
        with plugin_errors("examining its models"):
            found += [replace(one, endpoint=where) for one in load_target(local)(settings)]
    return found


def _advice(name: str | None, advised: dict[str, Any], *, fix: bool) -> list[str]:
    """Return the settings that fit what was found, which are written where that is wanted."""
    if not advised:
        return ["no setting fixes the problems found; nothing was written"] if fix else []
    lines = [with_values("", advised)]
    if fix and name:
        path = write_settings(CorpusStore().folder(name), advised)
        return [f"written into {path}:", *lines, "other settings are unchanged; run doctor again to check"]
    lines.insert(0, "recommended settings for corpus.yaml:")
    return [*lines, f"graphrag-dagster doctor {name} --fix writes them"] if name else lines


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


def _largest_data(name: str | None) -> dict[RoleName, int] | None:
    """How much the prompts of a corpus hold; None where there are no documents yet."""
    with suppress(CorpusError):
        return largest_data(name) if name else None
    return None


def _table(endpoint: str, findings: list[ProbeFinding]) -> Frame:
    rows = pl.DataFrame([attrgetter(*_PROBE)(one) for one in findings], _PROBE, orient="row")
    return Frame(rows, endpoint, styles=[_STYLES[one.verdict] for one in findings])
