"""What questions need of a snapshot, made before anyone asks."""

from graphrag_dagster.kernel.questions.asking.snapshot import open_published
from graphrag_dagster.kernel.questions.context.background import prepare_background
from graphrag_dagster.kernel.questions.question import retriever_of
from graphrag_dagster.kernel.questions.scope.known import known_of
from graphrag_dagster.kernel.storage.warehouse import Warehouse


def prepare(warehouse: Warehouse, corpus: str) -> None:
    """Make what lies beside the current snapshot for questions, where it is not there yet.

    What depends on how a corpus is asked, as the packing of its reports, is left to the first question.

    Args:
        warehouse: where the tables are.
        corpus: the corpus.

    Raises:
        WarehouseError: what lies there already is damaged.
    """
    index, _ = open_published(warehouse, corpus)
    retriever_of(index).prepare()
    index.once(known_of)
    prepare_background(index)
