"""Who does the tasks of LEGO-GraphRAG by rules, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphrag_dagster.kernel.tasks.session import Session
    from graphrag_dagster.systems.lego.tasks import PathAnswerer, PathSelector


def path_selector(_session: Session) -> PathSelector:
    """Who selects nodes, relations, triples and paths."""
    from graphrag_dagster.systems.lego.extractive.selector import ExtractivePathSelector

    return ExtractivePathSelector()


def path_answerer(_session: Session) -> PathAnswerer:
    """Who answers from paths."""
    from graphrag_dagster.systems.lego.extractive.selector import ExtractivePathAnswerer

    return ExtractivePathAnswerer()
