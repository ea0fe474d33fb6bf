"""The descriptions of elements, each made one of those of its instances."""

from collections.abc import Sequence

from graphrag_dagster.catalogue.tasks import DESCRIPTION_MERGER
from graphrag_dagster.core.language.tasks import DescriptionGroup, MergedDescription
from graphrag_dagster.engines.session import Session


def describe(session: Session, groups: Sequence[DescriptionGroup]) -> list[MergedDescription]:
    """Return one description for each group.

    Args:
        session: of the asset that they are made for.
        groups: each with the descriptions of one element.

    Raises:
        EngineError: the engine cannot do what was asked of it.
        EndpointError: the model endpoint cannot be used at all.
    """
    return list(session.task(DESCRIPTION_MERGER).merge(groups)) if groups else []
