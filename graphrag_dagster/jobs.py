"""What can be run as a whole."""

from dagster import AssetSelection, define_asset_job

from graphrag_dagster.partitions import CORPUS

INDEX = define_asset_job(
    "index",
    selection=AssetSelection.all(),
    partitions_def=CORPUS,
    description="From the corpus folder to graph, communities, reports and embeddings",
)
EMBED = define_asset_job(
    "embed",
    selection=AssetSelection.groups("embeddings"),
    partitions_def=CORPUS,
    description="Embed text units, entities and reports again, for instance after a change of embedder",
)
JOBS = [INDEX, EMBED]
