"""``graphrag-dagster doctor --report``: what a bug report needs to say, without secrets and without texts."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from graphrag_dagster import __version__
from graphrag_dagster.cli.result import Result
from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.catalogue.registry import installed_plugins
from graphrag_dagster.kernel.common.printable import os_error_message, plural
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.documents.documents import unread_files
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.credentials import names_a_key, redact
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.published import published, reading
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import all_tables

_DISTRIBUTION = "graphrag-dagster"
_VARIABLES = ("DAGSTER_HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HTTP_PROXY", "HTTPS_PROXY", "NO_COLOR")
#: A value of one word, such as the name of an engine or a model; a longer text may be somebody's.
_WORD = re.compile(r"[\w.:/+@*-]{1,80}")
#: Parts of a setting's key below which servers are given what may be a credential under any name.
_OPAQUE = re.compile(r"\.(?:headers|query|extra_body)\.")
#: Settings below it are by names of files.
_OF_FILES = "tables."
_CREDENTIAL_VARIABLE = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie", re.IGNORECASE)
_SHORTEST_CREDENTIAL = 4
_MOST_KINDS = 20


def bug_report(target: str | None) -> Result:
    """Return what a bug report needs: versions, settings, counts and runs. Nothing is sent.

    Args:
        target: the corpus to report on; default: all.

    Raises:
        CorpusError: there is no such corpus.
    """
    store = CorpusStore()
    names = store.names() if target is None else [store.resolve(target)]
    report = _without_credentials("\n".join([*_machine(), *_plugins(), *_corpora(store, names)]))
    return Result({"report": report}, [report])


def _without_credentials(text: str) -> str:
    """Mask the values of variables that may hold a credential, and where the user's home is."""
    found = {value for name, value in os.environ.items() if _CREDENTIAL_VARIABLE.search(name)}
    for value in sorted(found, key=len, reverse=True):
        if len(value) >= _SHORTEST_CREDENTIAL:
            text = text.replace(value, "***")
    home = str(Path.home())
    return text.replace(home, "~") if len(home) > 1 else text


def _machine() -> Iterator[str]:
    yield f"graphrag-dagster {__version__}"
    yield f"Python {platform.python_version()} ({platform.python_implementation()})"
    yield f"{platform.platform()}, {plural(os.cpu_count() or 1, 'processor')}"
    yield f"terminal: {'yes' if sys.stdout.isatty() else 'no'}, {sys.getfilesystemencoding()}"
    yield f"packages: {', '.join(_packages())}"
    given = [name for name in os.environ if name.startswith("GRAPHRAG_DAGSTER_") or name in _VARIABLES]
    yield f"variables set: {', '.join(sorted(given)) or 'none'}"


def _packages() -> Iterator[str]:
    """Yield what is installed of the packages that this one needs, those of its extras among them."""
    with suppress(metadata.PackageNotFoundError):
        for name in sorted({re.split(r"[^\w.-]", one)[0] for one in metadata.requires(_DISTRIBUTION) or ()}):
            with suppress(metadata.PackageNotFoundError):
                yield f"{name} {metadata.version(name)}"


def _plugins() -> Iterator[str]:
    found = installed_plugins()
    yield f"plug-ins: {'none' if not found else ''}".rstrip()
    for one in found:
        state = f"left out: {one.problem}" if one.problem else "in use"
        yield f"  {one.name} of {one.package}, {state}"


def _corpora(store: CorpusStore, names: list[str]) -> Iterator[str]:
    yield f"corpora: {len(names):,}"
    for name in names:
        yield ""
        yield f"corpus {name}"
        for part in (_settings, _published, _last_run):
            try:
                yield from (f"  {line}" for line in part(store, name))
            except (GraphragError, OSError) as error:
                why = os_error_message(error) if isinstance(error, OSError) else str(error)
                yield f"  {part.__name__.strip('_').replace('_', ' ')}: {why}"


def _settings(store: CorpusStore, name: str) -> Iterator[str]:
    default = flatten(CorpusSettings().model_dump(mode="json"))
    given = flatten(store.settings(name).model_dump(mode="json"))
    changed = {key: value for key, value in given.items() if value != default.get(key)}
    yield f"settings that are not the defaults: {'none' if not changed else ''}".rstrip()
    own = [key for key in changed if key.startswith(_OF_FILES)]
    for key in (key for key in changed if key not in own):
        yield f"  {key}: {_shown(key, changed[key])}"
    if own:
        yield f"  {_OF_FILES}*: {plural(len(own), 'column')}"


def _shown(key: str, value: Any) -> str:
    last = key.rpartition(".")[2]
    if _OPAQUE.search(key) or names_a_key(last):
        return "***"
    match redact(key, value):
        case None | bool() | int() | float() as plain:
            return str(plain).lower()
        case str() as text:
            return text if _WORD.fullmatch(text) else f"(a text of {plural(len(text), 'character')})"
        case list() as many:
            return f"(a list of {len(many):,})"
        case _:
            return "(not shown)"


def _published(_: CorpusStore, name: str) -> Iterator[str]:
    warehouse = Warehouse()
    if not warehouse.file(name).is_file() and published(warehouse, name) is None:
        yield "tables: none, it has not been indexed"
        return
    with reading(warehouse, name) as (reader, snapshot):
        there = [table for table in all_tables() if reader.has(table)]
        counts = reader.counts(there)
        files = reader.read_if_present(tables.FILES)
    yield f"published: {f'{snapshot.published[:16]} UTC' if snapshot else 'never'}"
    yield f"tables: {', '.join(f'{one.full_name} {counts[one]:,}' for one in there if counts[one])}"
    yield from _not_read(files if files is not None else tables.FILES.empty())


def _not_read(files: pl.DataFrame) -> Iterator[str]:
    """Yield how many files were not read, by status, extension and reason, without their names."""
    kinds = (
        unread_files(files)
        .with_columns(
            extension=pl.col("path")
            .str.extract(r"[^/](\.[^./]+)$")
            .str.to_lowercase()
            .fill_null("no extension"),
            reason=pl.col("reason").fill_null(""),
        )
        .group_by("status", "extension", "reason", maintain_order=True)
        .len()
    )
    yield f"files not read: {'none' if kinds.is_empty() else ''}".rstrip()
    for status, extension, reason, count in kinds.head(_MOST_KINDS).rows():
        yield f"  {count:,} {extension}: {status}{f', {reason}' if reason else ''}"
    if kinds.height > _MOST_KINDS:
        yield f"  and {kinds.height - _MOST_KINDS:,} more kinds"


def _last_run(_: CorpusStore, name: str) -> Iterator[str]:
    from dagster import DagsterEventType, RunsFilter

    from graphrag_dagster.resources.dagster_instance import recorded_instance
    from graphrag_dagster.resources.dagster_keys import PARTITION_TAG

    with recorded_instance() as instance:
        wanted = RunsFilter(tags={PARTITION_TAG: name})
        records = instance.get_run_records(wanted, limit=1) if instance else []
        if instance is None or not records:
            yield "last run: none"
            return
        run, begun, ended = records[0].dagster_run, records[0].start_time, records[0].end_time
        failures = instance.get_records_for_run(run.run_id, of_type=DagsterEventType.STEP_FAILURE).records
    at = f" at {datetime.fromtimestamp(begun, UTC):%Y-%m-%d %H:%M} UTC" if begun else ""
    took = f", {ended - begun:,.1f} s" if begun and ended else ""
    failed = f", failed in {failures[0].event_log_entry.step_key}" if failures else ""
    yield f"last run: {run.job_name} {run.status.value.lower()}{at}{took}{failed}"
