"""A document that must leave no trace, and the search for traces."""

from pathlib import Path

from dagster import AssetKey

from graphrag_dagster.definitions import defs
from graphrag_dagster.operations.keeping.residue import clear_older, erase
from graphrag_dagster.orchestration.dagster_instance import instance
from graphrag_dagster.resources.published import publish
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.resources.warehouse import Warehouse

SECRET = {
    "secret/dossier.txt": (
        "Quorvax Zentholm founded the Blimmerwick Foundry in 1871. Quorvax Zentholm paid 7391846 crowns to "
        "Selma Dray. The Blimmerwick Foundry forged the violet anchors of Ostrellin. Quorvax Zentholm met "
        "Hanna Quill in Ostrellin."
    )
}
MARKERS = (b"quorvax", b"zentholm", b"blimmerwick", b"7391846", b"violet anchors", b"ostrellin", b"dossier")


def traces(home: Path) -> dict[str, list[str]]:
    """The markers found, in any case, in the names and bytes of all files but the corpora's, by file."""
    found = {}
    for file in sorted(home.rglob("*")):
        if file.is_file() and file.relative_to(home).parts[0] != "corpora":
            data = file.name.lower().encode() + file.read_bytes().lower()
            if seen := [marker.decode() for marker in MARKERS if marker in data]:
                found[str(file.relative_to(home))] = seen
    return found


def index_unpublished(corpus: str = "coast") -> None:
    """Index without the last step."""
    last = AssetKey(["marts", "published_snapshot"])
    job = defs.resolve_job_def("index")
    rest = sorted(key for key in job.asset_layer.executable_asset_keys if key != last)
    with instance() as dagster_instance:
        job.execute_in_process(partition_key=corpus, instance=dagster_instance, asset_selection=rest)


def erase_and_publish(corpus: str = "coast") -> None:
    """What the last step of an index does."""
    warehouse = Warehouse()
    erase(warehouse, corpus, ReplyMemory().database())
    made, _ = publish(warehouse, corpus)
    clear_older(warehouse, corpus, made.version)
