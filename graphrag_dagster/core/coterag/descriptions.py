"""Descriptions of entities, made of their triples."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.core.coterag.options import TailTemplate
from graphrag_dagster.core.coterag.triples import TripleGraph
from graphrag_dagster.core.text.tokens import Tokenizer

#: Most tokens of a description.
MOST_TOKENS = 512
_VOWELS = "^[AEIOUaeiou]"


@dataclass(frozen=True, slots=True)
class Descriptions:
    """``frame``: ``entity_id``, ``description``, ``templated``, ``left_out`` (sentences over the budget).

    ``templated`` is the share of entities that a template describes.
    """

    frame: pl.DataFrame
    templated: float


def descriptions(
    graph: TripleGraph,
    tokenizer: Tokenizer,
    *,
    tail_template: TailTemplate = "no_outgoing",
    most_tokens: int = MOST_TOKENS,
) -> Descriptions:
    """Return a description of every entity, in the order of the graph.

    Its triples are sentences, ``subject relation object.``, those it is the head of first, then by relation
    and by the other name. Whole sentences are taken up to the budget, the first in any case, cut where it
    is longer. Tokens of a sentence are counted as those of its parts.

    Args:
        graph: the triples.
        tokenizer: counts.
        tail_template: who gets the template in place of triples: entities that are the head of none, or only
            those without any.
        most_tokens: of a description.
    """
    told = _sentences(graph, tokenizer, tail_template)
    kept = told.filter((pl.col("tokens").cum_sum().over("place") <= most_tokens) | pl.col("first"))
    of_triples = kept.group_by("place", maintain_order=True).agg(
        pl.col("sentence").str.join(" "), kept=pl.len(), long=pl.col("tokens").sum() > most_tokens
    )
    whole = told.group_by("place").agg(whole=pl.len())
    frame = (
        graph.entities.select("entity_id", template=_template())
        .with_row_index("place")
        .with_columns(pl.col("place").cast(pl.Int64))
        .join(of_triples, on="place", how="left", maintain_order="left")
        .join(whole, on="place", how="left", maintain_order="left")
        .select(
            "entity_id",
            pl.coalesce("sentence", "template").alias("description"),
            templated=pl.col("sentence").is_null(),
            left_out=(pl.col("whole") - pl.col("kept")).fill_null(0).cast(pl.Int64),
            long=pl.col("long").fill_null(value=False),
        )
    )
    frame = _cut(frame, tokenizer, most_tokens).drop("long")
    return Descriptions(frame, int(frame["templated"].sum()) / max(len(frame), 1))


def _sentences(graph: TripleGraph, tokenizer: Tokenizer, rule: TailTemplate) -> pl.DataFrame:
    """Every sentence of every entity, in order: ``place``, ``sentence``, ``tokens``, ``first``."""
    titles = graph.entities["title"]
    name_tokens = pl.Series(_tokens(titles.to_list(), tokenizer), dtype=pl.Int64)
    relations = graph.triples["relation"].unique().sort()
    relation_tokens = pl.DataFrame(
        {"relation": relations, "said": pl.Series(_tokens(relations.to_list(), tokenizer), dtype=pl.Int64)}
    )
    triples = (
        graph.triples.select("head", "relation", "tail")
        .with_columns(
            sentence=pl.concat_str(
                titles.gather(graph.head), "relation", titles.gather(graph.tail), separator=" "
            )
            + ".",
            ends=name_tokens.gather(graph.head) + name_tokens.gather(graph.tail),
            head_place=pl.Series(graph.head),
            tail_place=pl.Series(graph.tail),
        )
        .join(relation_tokens, on="relation", how="left", maintain_order="left")
        .with_columns(tokens=pl.col("ends") + pl.col("said") + 1)
    )
    outgoing = triples.select(
        "sentence", "tokens", "relation", place="head_place", other="tail", incoming=pl.lit(value=False)
    )
    incoming = triples.select(
        "sentence", "tokens", "relation", place="tail_place", other="head", incoming=pl.lit(value=True)
    )
    if rule == "no_outgoing":
        heads = np.zeros(len(titles), dtype=np.bool_)
        heads[graph.head] = True
        incoming = incoming.filter(pl.Series(heads).gather(incoming["place"]))
    both = pl.concat([outgoing, incoming]).sort("place", "incoming", "relation", "other")
    return both.select("place", "sentence", "tokens", first=pl.col("place").is_first_distinct())


def _tokens(texts: list[str], tokenizer: Tokenizer) -> list[int]:
    return tokenizer.counts([f" {text}" for text in texts])


def _template() -> pl.Expr:
    label = pl.col("type").fill_null("").str.strip_chars().str.to_lowercase()
    label = pl.when(label == "").then(pl.lit("thing of unknown type")).otherwise(label)
    article = pl.when(label.str.contains(_VOWELS)).then(pl.lit("an")).otherwise(pl.lit("a"))
    return pl.format("{} is {} {} mentioned in the Knowledge Graph.", "title", article, label)


def _cut(frame: pl.DataFrame, tokenizer: Tokenizer, most: int) -> pl.DataFrame:
    if not frame["long"].any():
        return frame
    texts = frame["description"].to_list()
    for place in frame["long"].arg_true():
        texts[place] = tokenizer.truncate(texts[place], most)
    return frame.with_columns(description=pl.Series(texts, dtype=pl.String))
