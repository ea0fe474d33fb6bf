"""Entities of a corpus with their names, the decisions on these, and open questions."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from graphrag_dagster.kernel.lineage.entity_lineage import ALIASES, DECISIONS
from graphrag_dagster.kernel.lineage.lineage_steps import LineageRows, open_rows
from graphrag_dagster.kernel.lineage.resolved_names import decisions_on
from graphrag_dagster.kernel.lineage.row_lineage import entity_named
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.systems.graphrag.resolution.human_decisions import DecisionLinks
from graphrag_dagster.systems.graphrag.resolution.resolved_names import OpenQuestion, open_questions
from graphrag_dagster.systems.graphrag.resolution.settings import ResolutionSettings

_ENTITY = ("entity_id", "human_readable_id", "name", "title", "type", "frequency")
_NAMES = ("document_id", "name", "surface", "full_name", "entity", "title", "mentions")
_DOCUMENT = ("document_id", "path", "title")


@dataclass(frozen=True, slots=True)
class EntityNames:
    """An entity with its names and the decisions on them.

    Attributes:
        entity: its row as :func:`entities` returns it.
        names: ``surface``, ``mentions`` and ``documents``, a list of paths, of each of its names.
        decisions: rows of ``resolution.decisions`` on its names with ``path``; ``joins`` says which joined
            two of them.
    """

    entity: dict[str, Any]
    names: pl.DataFrame
    decisions: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            **self.entity,
            "names": self.names.to_dicts(),
            "decisions": self.decisions.to_dicts(),
        }


@dataclass(frozen=True, slots=True)
class Questions:
    """What is open on names.

    Attributes:
        open: the questions, those first whose answer moves the most mentions.
        answered: how many more are decided by now, which the next index applies.
        unused: ``decision_id``, ``who``, ``decided_at`` and ``reason`` of decisions without effect.
    """

    open: tuple[OpenQuestion, ...]
    answered: int
    unused: pl.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return it as values that JSON can hold."""
        return {
            "questions": [asdict(one) for one in self.open],
            "answered": self.answered,
            "unused": self.unused.to_dicts(),
        }


def entities(warehouse: Warehouse, corpus: str) -> pl.DataFrame:
    """Return all entities, the most mentioned first.

    Columns: ``entity_id``, ``title``, ``type``, ``mentions``, ``text_units``, ``documents`` (how many), and
    ``names``, all of its spellings, the most frequent first.

    Raises:
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        return _entities(rows)


def entity(warehouse: Warehouse, corpus: str, asked: str) -> EntityNames:
    """Return an entity with its names, where each stands for it, and every decision on them.

    Args:
        warehouse: where the tables lie.
        corpus: its name.
        asked: id, the beginning of it, number, title or any name of the entity.

    Raises:
        QuestionError: there is none, or more than one; names near ones.
        WarehouseError: the corpus has not been indexed.
    """
    with open_rows(warehouse, corpus) as rows:
        identity = entity_named(rows, asked)
        (name,) = rows.of("graph.entities", "entity_id", [identity], ("name",))["name"]
        (row,) = _entities(rows).filter(pl.col("entity_id") == identity).to_dicts()
        aliases, documents = rows.all(ALIASES, _NAMES), rows.all("corpus.documents", _DOCUMENT)
        decided = decisions_on(rows.all(DECISIONS, ()), aliases, name)
    paths = documents.select("document_id", "path")
    names = (
        aliases.filter(pl.col("entity") == name)
        .join(paths, on="document_id")
        .sort("path", "surface")
        .group_by("surface", maintain_order=True)
        .agg(pl.col("mentions").sum(), documents=pl.col("path").unique(maintain_order=True))
        .sort("mentions", "surface", descending=[True, False])
    )
    shown = decided.join(paths, on="document_id", how="left", maintain_order="left")
    return EntityNames(row, names, shown.drop("one_entities", "other_entities", "moved"))


def questions(warehouse: Warehouse, corpus: str, *, store: CorpusStore | None = None) -> Questions:
    """Return what the rules, a model or contradicting names leave open, and decisions without effect.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
        WarehouseError: the corpus has not been indexed.
    """
    said = (store or CorpusStore()).settings(corpus).section(ResolutionSettings).decisions()
    with open_rows(warehouse, corpus) as rows:
        decided = rows.all(DECISIONS, ())
        found = open_questions(decided, rows.all(ALIASES, _NAMES), rows.all("corpus.documents", _DOCUMENT))
    links: dict[str | None, DecisionLinks] = {None: said.links()}
    links |= {path: said.links(path) for path in said.documents()}
    still = [one for one in found if one.decision_id or not _is_answered(one, links)]
    unused = decided.filter(pl.col("verdict") == "unused")
    return Questions(
        tuple(still), len(found) - len(still), unused.select("decision_id", "who", "decided_at", "reason")
    )


def _is_answered(question: OpenQuestion, links: Mapping[str | None, DecisionLinks]) -> bool:
    places: list[str | None] = [path for path, _ in question.documents]
    return all(
        links.get(place, links[None]).has_decision(question.one, question.other) for place in places or [None]
    )


def _entities(rows: LineageRows) -> pl.DataFrame:
    found = rows.all("graph.entities", _ENTITY)
    aliases = rows.all(ALIASES, _NAMES)
    spelled = (
        aliases.group_by("entity", "surface")
        .agg(pl.col("mentions").sum())
        .sort("mentions", "surface", descending=[True, False])
        .group_by("entity", maintain_order=True)
        .agg(names=pl.col("surface"))
    )
    counted = aliases.group_by("entity").agg(
        pl.col("mentions").sum(), documents=pl.col("document_id").n_unique()
    )
    return (
        found.join(counted, left_on="name", right_on="entity", how="left")
        .join(spelled, left_on="name", right_on="entity", how="left")
        .sort("mentions", "frequency", "title", descending=[True, True, False], nulls_last=True)
        .select(
            *("entity_id", "title", "type"),
            pl.col("mentions").fill_null(0),
            pl.col("frequency").alias("text_units"),
            pl.col("documents").fill_null(0),
            pl.coalesce("names", pl.concat_list("title")).alias("names"),
        )
    )
