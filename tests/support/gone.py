"""A document that must leave no trace, and the search for traces."""

from pathlib import Path

from dagster import AssetKey

from graphrag_dagster.definitions import defs
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.pipeline.erasure import clear_older_snapshots, erase
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.resources.dagster_instance import instance
from support.corpora import write_corpus
from support.endpoint import ScriptedEndpoint

SECRET = {
    "secret/dossier.txt": (
        "Quorvax Zentholm founded the Blimmerwick Foundry in 1871. Quorvax Zentholm paid 7391846 crowns to "
        "Selma Dray. The Blimmerwick Foundry forged the violet anchors of Ostrellin. Quorvax Zentholm met "
        "Hanna Quill in Ostrellin."
    )
}
_SETTINGS = {
    "extractive": "context: {min_sim: -1, alpha: 2}\nquestions: {methods: [C0, SS], personas: 1, tasks: 1, per_task: 2}\n",
    "llm": """
engine: llm
claims: {enabled: true}
text_units: {strategy: sentences, size: 40, overlap: 0}
embeddings: {embedder: endpoint, model: scripted-embedding}
questions: {methods: [C0, SS], personas: 1, tasks: 1, per_task: 2,
             ask: ["Who paid Selma Dray?"], write: always}
evaluation: {replicates: 1, criteria: [comprehensiveness, directness]}
model: {base_url: "URL", name: scripted, retries: 1, tasks: {judge: {name: judge}}}
""",
}
MARKERS = (b"quorvax", b"zentholm", b"blimmerwick", b"7391846", b"violet anchors", b"ostrellin", b"dossier")


def evaluated_settings(engine: str, endpoint: ScriptedEndpoint) -> str:
    """Settings of a corpus that is indexed, answered and evaluated by an engine."""
    return _SETTINGS[engine].replace("URL", endpoint.url)


def write_evaluated(root: Path, engine: str, endpoint: ScriptedEndpoint) -> Path:
    """Write the corpus ``coast`` with the secret document and such settings below ``root``; gives its folder."""
    folder = write_corpus(root, settings=evaluated_settings(engine, endpoint))
    for path, text in SECRET.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


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
    last = AssetKey(["serving", "published_snapshot"])
    job = defs.resolve_job_def("index")
    rest = sorted(key for key in job.asset_layer.executable_asset_keys if key != last)
    with instance() as dagster_instance:
        job.execute_in_process(partition_key=corpus, instance=dagster_instance, asset_selection=rest)


def erase_and_publish(corpus: str = "coast") -> None:
    """What the last step of an index does."""
    warehouse = Warehouse()
    erase(warehouse, corpus, LLMCache().database())
    made, _ = publish(warehouse, corpus)
    clear_older_snapshots(warehouse, corpus, made.version)
