"""The evaluation as a page that a person reads."""

from hashlib import sha256

from dagster import AssetExecutionContext, AssetKey, DataVersion, MaterializeResult, MetadataValue

from graphrag_dagster.operations.evaluating.evaluation_report import SHOWN
from graphrag_dagster.orchestration.declare import corpus_asset, key_of
from graphrag_dagster.orchestration.versions import code_version
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse


@corpus_asset(
    key=AssetKey(["evaluation", "report"]),
    group_name="evaluation",
    kinds={"html"},
    deps=[key_of(table) for table in SHOWN],
    code_version=code_version("evaluation"),
)
def evaluation_report(
    context: AssetExecutionContext, corpora: CorpusStore, warehouse: Warehouse
) -> MaterializeResult[None]:
    """Question, method, verdict, figures, examples, cost and caveats on one page that needs nothing else."""
    from graphrag_dagster.core.evaluation.report.markup import image
    from graphrag_dagster.operations.evaluating.evaluation_report import make_report

    made = make_report(warehouse, corpora, context.partition_key)
    return MaterializeResult(
        metadata={
            "page": MetadataValue.path(str(made.page)),
            "bytes": made.page.stat().st_size,
            **{
                figure.name: MetadataValue.md(f"![{figure.alt}]({image(figure.svg)})")
                for figure in made.figures
            },
        },
        data_version=DataVersion(sha256(made.page.read_bytes()).hexdigest()[:32]),
    )
