"""Checks of resolved names, and the questions that resolution left open."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from graphrag_dagster.kernel.lineage.resolved_names import with_entities
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling

_KEY = ["document_id", "name"]


def check_names(
    gleaned_entities: pl.DataFrame, text_chunks: pl.DataFrame, aliases: pl.DataFrame
) -> list[str]:
    """Return where names of instances and rows of ``resolution.aliases`` are not one to one.

    Args:
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        aliases: rows of ``resolution.aliases``.
    """
    units = text_chunks.select("text_unit_id", "document_id")
    named = (
        gleaned_entities.select("text_unit_id", "name").join(units, on="text_unit_id").select(_KEY).unique()
    )
    rows = aliases.group_by(_KEY).len("rows")
    found = named.with_columns(named=True).join(rows, on=_KEY, how="full", coalesce=True)
    wrong = found.filter((pl.col("rows").fill_null(0) != 1) | pl.col("named").is_null()).sort(_KEY)
    return [
        f"{name!r} of document {document} has {rows or 0} rows"
        + ("" if is_named else ", and does not occur there")
        for document, name, is_named, rows in wrong.select(*_KEY, "named", "rows").iter_rows()
    ]


def check_entities(aliases: pl.DataFrame, entities: pl.DataFrame) -> list[str]:
    """Return which entities have no name, and which names have no entity.

    Args:
        aliases: rows of ``resolution.aliases``.
        entities: rows of ``graph.entities``.
    """
    known, named = set(entities["name"]), set(aliases["entity"])
    return [
        *(f"{name!r} has names in resolution, but is not an entity" for name in sorted(named - known)),
        *(f"the entity {name!r} has no name in resolution" for name in sorted(known - named)),
    ]


def check_human_decisions(aliases: pl.DataFrame, documents: pl.DataFrame, people: Decisions) -> list[str]:
    """Return names that a person said to be different and that are names of one entity all the same.

    Args:
        aliases: rows of ``resolution.aliases``.
        documents: ``document_id`` and ``path`` of ``corpus.documents``.
        people: what people decided, documents by path or id.
    """
    spoken = [word for word in people.words if word.verdict == "different"]
    keys = {key for word in spoken for key in word.keys}
    known = (
        aliases.filter(pl.col("name").is_in(keys) | pl.col("entity").is_in(keys))
        .select(*_KEY, "entity")
        .join(documents.select("document_id", "path"), on="document_id", how="left")
    )
    return [problem for word in spoken for problem in _joined(known, word)]


def _joined(known: pl.DataFrame, word: NameRuling) -> Iterator[str]:
    inside, own = known, pl.col("entity")
    if word.document is not None:
        inside = known.filter((pl.col("path") == word.document) | (pl.col("document_id") == word.document))
        own = pl.col("name")
    entities = {
        key: set(inside.filter((pl.col("name") == key) | (own == key))["entity"]) for key in word.keys
    }
    for one, other in combinations(word.keys, 2):
        for entity in sorted(entities[one] & entities[other]):
            yield f"{one!r} and {other!r} are names of {entity!r}, but a person declared them different"


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Two names of which nobody knows whether they are one.

    Attributes:
        one: a name.
        one_type: its type.
        other: another.
        other_type: its type.
        reason: what speaks for it, and why that is not enough.
        score: probability that they are one, by the weights; None where a person decided what cannot be done.
        mentions: that one of the two has where it is asked: what the answer moves.
        documents: path and title of each document in which it is asked; none for their full names in all.
        elsewhere: whether one of the names stands in further documents.
        decision_id: of the person's decision that left it open.
    """

    one: str
    one_type: str
    other: str
    other_type: str
    reason: str
    score: float | None
    mentions: int
    documents: tuple[tuple[str, str], ...]
    elsewhere: bool
    decision_id: str | None = None


def entities_of(aliases: pl.DataFrame, name: str, documents: pl.Series | None = None) -> list[str]:
    """Return the entities that a name stands for, sorted: by a name of a document, or their own.

    Args:
        aliases: rows of ``resolution.aliases``.
        name: in whatever case.
        documents: ids of those alone in which it is looked for; None for all.
    """
    key = normalise(name)
    found = aliases if documents is None else aliases.filter(pl.col("document_id").is_in(documents.to_list()))
    own = pl.col("entity") == key if documents is None else pl.lit(value=False)
    entities: list[str] = found.filter((pl.col("name") == key) | own)["entity"].unique().sort().to_list()
    return entities


def open_questions(
    decisions: pl.DataFrame, aliases: pl.DataFrame, documents: pl.DataFrame
) -> list[OpenQuestion]:
    """Return what is open, each pair of names once; those first whose answer moves the most mentions.

    Args:
        decisions: rows of ``resolution.decisions``.
        aliases: rows of ``resolution.aliases``.
        documents: ``document_id``, ``path`` and ``title`` of ``corpus.documents``.
    """
    spread = dict(aliases.group_by("surface").agg(pl.col("document_id").n_unique()).iter_rows())
    asked = with_entities(decisions.filter(pl.col("verdict") == "ask"), aliases)
    grouped = (
        asked.join(documents.select("document_id", "path", "title"), on="document_id", how="left")
        .sort("score", "pair_id", descending=[True, False], nulls_last=True)
        .group_by("one", "other", maintain_order=True)
        .agg(
            pl.col("one_type", "other_type", "reason", "score", "decision_id").first(),
            mentions=pl.col("moved").sum(),
            paths=pl.col("path").drop_nulls(),
            titles=pl.col("title").filter(pl.col("path").is_not_null()),
            everywhere=pl.col("document_id").is_null().any(),
        )
        .sort("mentions", "score", "one", "other", descending=[True, True, False, False], nulls_last=True)
    )
    return [
        OpenQuestion(
            **{
                key: row[key]
                for key in ("one", "one_type", "other", "other_type", "reason", "score", "mentions")
            },
            documents=()
            if row["everywhere"]
            else tuple(sorted(zip(row["paths"], row["titles"], strict=True))),
            elsewhere=max(spread.get(row[side], 0) for side in ("one", "other")) > len(row["paths"]),
            decision_id=row["decision_id"],
        )
        for row in grouped.iter_rows(named=True)
    ]
