"""Checks open batches and collects the finished ones, for runs, the command line and the sensor."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, TypeAlias

from graphrag_dagster.errors import EndpointError
from graphrag_dagster.kernel.models.batches.batch_api import FINAL, BatchApi, RemoteBatch, read_result
from graphrag_dagster.kernel.models.batches.batch_store import Batch, BatchStore
from graphrag_dagster.kernel.models.cache.database import Database
from graphrag_dagster.kernel.models.chat.loop import run_one
from graphrag_dagster.kernel.models.endpoint.address import BASE_URL, Address
from graphrag_dagster.kernel.settings.model import ModelSettings

#: Gives the settings of the models of a corpus.
SettingsOf: TypeAlias = Callable[[str], Iterable[ModelSettings]]


async def refresh(store: BatchStore, api: BatchApi, batches: Iterable[Batch]) -> None:
    """Ask how far open batches are, and collect the results of those that are over.

    Raises:
        EndpointError: the endpoint cannot be asked.
    """
    for batch in batches:
        remote = await api.look(batch.id)
        if remote.status not in FINAL:
            store.progress(remote)
            continue
        lines = [line for file in remote.files for line in await api.lines(file)]
        results = [result for line in lines if (result := read_result(line))]
        if remote.status == "completed" and not results:
            gone = RemoteBatch(remote.id, remote.status, problem="its results are missing")
            store.close(gone, [])
        else:
            store.close(remote, results)


def api_of(batch: Batch, settings_of: SettingsOf) -> BatchApi:
    """Return the Batch API that a batch is at, as the settings have it that have its address.

    Args:
        batch: of which only the address as it may be stored is known.
        settings_of: gives the settings of a corpus's models, in which the whole address stands, and what is
            sent along with each request.

    Raises:
        EndpointError: the address cannot be called without what was masked, and no settings have it.
    """
    own: dict[str, Any] = {"api_key_variable": batch.variable, "name": batch.model, "retries": 2}
    for settings in (*settings_of(batch.corpus), ModelSettings()):
        with suppress(EndpointError):
            if Address(settings).shown == batch.url:
                return BatchApi(settings.model_copy(update={**own, "tasks": {}}))
    if "?" not in batch.url:
        return BatchApi(ModelSettings(base_url=batch.url, **own))
    raise EndpointError(
        f"batch {batch.id} is at {batch.url}, which is no longer in the settings of {batch.corpus}; set "
        f"{BASE_URL} to that address"
    )


def refresh_all(database: Database, settings_of: SettingsOf, corpus: str | None = None) -> list[str]:
    """Ask how far all open batches are, or those of a corpus, and collect what is done.

    Args:
        database: of the batches.
        settings_of: as of :func:`api_of`.
        corpus: default: all.

    Returns:
        What could not be asked, and why; one text for each endpoint.
    """
    store = BatchStore(database)
    groups: dict[tuple[str, str, str], list[Batch]] = {}
    for batch in store.batches(corpus, open_only=True):
        groups.setdefault((batch.url, batch.variable, batch.corpus), []).append(batch)
    problems = []
    for group in groups.values():
        try:
            run_one(refresh(store, api_of(group[0], settings_of), group))
        except EndpointError as error:
            problems.append(str(error))
    return problems


def finished(database: Database, settings_of: SettingsOf) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Collect what is done, and say which corpora can go on.

    Returns:
        Corpus → the ids of the batches that brought something new, for each corpus that waits for no batch
        any more; and what could not be asked.
    """
    problems = refresh_all(database, settings_of)
    return BatchStore(database).ready(), problems
