"""What can be run as a whole."""

from dagster import AssetSelection, define_asset_job

from graphrag_dagster.partitions import CORPUS

_PUBLISHED = AssetSelection.keys(["marts", "published_snapshot"])

INDEX = define_asset_job(
    "index",
    selection=AssetSelection.all() - AssetSelection.groups("answers"),
    partitions_def=CORPUS,
    description="From the corpus folder to graph, communities, reports and embeddings",
)
EMBED = define_asset_job(
    "embed",
    selection=AssetSelection.groups("embeddings") | _PUBLISHED,
    partitions_def=CORPUS,
    description="Embed text units, entities and reports again, for instance after a change of embedder",
)
ANSWER = define_asset_job(
    "answer",
    selection=AssetSelection.groups("answers", "usage"),
    partitions_def=CORPUS,
    description="Answer the corpus's questions in the chosen ways; what is still good is kept",
)
JOBS = [INDEX, EMBED, ANSWER]
