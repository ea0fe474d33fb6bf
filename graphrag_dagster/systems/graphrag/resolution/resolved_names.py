"""Instances under the entities that their names resolve to, and explanations of each resolution."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.namesakes import TELL


class Resolved:
    """Tells for names in text units whose they are.

    Args:
        aliases: ``document_id``, ``name`` and ``entity`` of ``resolution.aliases``.
        units: ``text_unit_id`` and ``document_id`` of ``corpus.text_chunks``.
    """

    def __init__(self, aliases: pl.DataFrame, units: pl.DataFrame) -> None:
        self._aliases = aliases.select("document_id", _name="name", _entity="entity")
        self._units = units.select("text_unit_id", "document_id")

    def named(self, instances: pl.DataFrame, *columns: str) -> pl.DataFrame:
        """Return instances with the entities' names in place of theirs; a name of no entity stays as it is.

        Args:
            instances: with ``text_unit_id``.
            columns: that hold normalised names.
        """
        found = instances.join(self._units, on="text_unit_id", how="left", maintain_order="left")
        for column in columns:
            found = (
                found.join(
                    self._aliases,
                    left_on=["document_id", column],
                    right_on=["document_id", "_name"],
                    how="left",
                    maintain_order="left",
                )
                .with_columns(pl.coalesce("_entity", column).alias(column))
                .drop("_entity")
            )
        return found.select(instances.columns)


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


def with_entities(decisions: pl.DataFrame, aliases: pl.DataFrame) -> pl.DataFrame:
    """Return decisions with ``one_entities`` and ``other_entities``: whose the two names are, and ``moved``.

    ``moved`` is the number of mentions that the rarer of the two has where they were compared.

    Args:
        decisions: rows of ``resolution.decisions``.
        aliases: rows of ``resolution.aliases``.
    """
    inside = aliases.group_by("document_id", pl.col("surface").alias("_name")).agg(
        pl.col("entity").unique().sort().alias("_entities"), pl.col("mentions").sum().alias("_mentions")
    )
    titles = _entities_by_name(aliases, pl.col("title"))
    full = pl.concat(
        [titles, _entities_by_name(aliases, pl.col("full_name")).join(titles, on="_name", how="anti")]
    )
    told = decisions.with_row_index("_at")
    for side in ("one", "other"):
        of_documents = told.filter(pl.col("document_id").is_not_null()).join(
            inside, left_on=["document_id", side], right_on=["document_id", "_name"], how="left"
        )
        between = told.filter(pl.col("document_id").is_null())
        known = pl.col(side).is_in(full["_name"].to_list())
        named = pl.when(known).then(side).otherwise(pl.col(side).str.replace(TELL, ""))
        of_corpus = between.join(full, left_on=named, right_on="_name", how="left").select(
            of_documents.columns
        )
        told = pl.concat([of_documents, of_corpus]).rename(
            {"_entities": f"{side}_entities", "_mentions": f"_{side}_mentions"}
        )
    moved = pl.min_horizontal("_one_mentions", "_other_mentions").fill_null(0)
    return told.sort("_at").with_columns(moved=moved).drop("_at", "_one_mentions", "_other_mentions")


def decisions_on(decisions: pl.DataFrame, aliases: pl.DataFrame, entity: str) -> pl.DataFrame:
    """Return the decisions on names of an entity, those first that joined them, which ``joins`` says.

    Args:
        decisions: rows of ``resolution.decisions``.
        aliases: rows of ``resolution.aliases``.
        entity: its normalised name.
    """
    one, other = (
        pl.col(f"{side}_entities").list.contains(entity).fill_null(value=False) for side in ("one", "other")
    )
    return (
        with_entities(decisions, aliases)
        .filter(one | other)
        .with_columns(joins=one & other & (pl.col("verdict") == "merge"))
        .sort(~pl.col("joins"), pl.col("document_id").is_not_null(), "pair_id")
    )


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


def _entities_by_name(aliases: pl.DataFrame, name: pl.Expr) -> pl.DataFrame:
    """Return for each name the entities that it is a name of, and how often it is mentioned."""
    return aliases.group_by(name.alias("_name")).agg(
        pl.col("entity").unique().sort().alias("_entities"), pl.col("mentions").sum().alias("_mentions")
    )
