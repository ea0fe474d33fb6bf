"""Descriptions of entities, composed of their triples."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.kernel.text.tokenization import Tokenizer
from graphrag_dagster.systems.coterag.coterag_options import TailTemplate
from graphrag_dagster.systems.coterag.index.triple_communities import TripleGraph

#: Most tokens of a description.
MOST_TOKENS = 512
_VOWELS = "^[AEIOUaeiou]"


def descriptions(
    graph: TripleGraph,
    tokenizer: Tokenizer,
    *,
    tail_template: TailTemplate = "no_outgoing",
    most_tokens: int = MOST_TOKENS,
) -> pl.DataFrame:
    """Return a description of every entity, in the order of the graph.

    Columns: ``entity_id``, ``description``, ``templated``, ``left_out`` (sentences over the budget).

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
    told = _order(graph, tokenizer, tail_template)
    kept = told.filter((pl.col("tokens").cum_sum().over("place") <= most_tokens) | pl.col("first"))
    kept = kept.with_columns(sentence=_sentences(graph).gather(kept["triple"]))
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
    return _cut(frame, tokenizer, most_tokens).drop("long")


def _order(graph: TripleGraph, tokenizer: Tokenizer, rule: TailTemplate) -> pl.DataFrame:
    """Which triples tell of each entity, in order: ``place``, ``triple`` (its row), ``tokens``, ``first``."""
    name_tokens = _tokens(graph.entities["title"], tokenizer)
    relation = graph.triples["relation"]
    relations = relation.unique().sort()
    code = relation.rank("dense").to_numpy().astype(np.int64) - 1
    tokens = name_tokens[graph.head] + name_tokens[graph.tail] + _tokens(relations, tokenizer)[code] + 1
    # Places and codes are in the order of names and relations, and numbers are sorted faster.
    triples = pl.DataFrame(
        {
            "head": graph.head,
            "relation": code,
            "tail": graph.tail,
            "triple": np.arange(len(code)),
            "tokens": tokens,
        }
    )
    outgoing = triples.select("relation", "triple", "tokens", place="head", other="tail", incoming=pl.lit(0))
    incoming = triples.select("relation", "triple", "tokens", place="tail", other="head", incoming=pl.lit(1))
    if rule == "no_outgoing":
        heads = np.zeros(len(graph.entities), dtype=np.bool_)
        heads[graph.head] = True
        incoming = incoming.filter(pl.Series(heads[graph.tail], dtype=pl.Boolean))
    both = pl.concat([outgoing, incoming]).sort("place", "incoming", "relation", "other")
    return both.select("place", "triple", "tokens", first=pl.col("place").is_first_distinct())


def _sentences(graph: TripleGraph) -> pl.Series:
    titles = graph.entities["title"]
    return graph.triples.select(
        sentence=pl.format("{} {} {}.", titles.gather(graph.head), "relation", titles.gather(graph.tail))
    )["sentence"]


def _tokens(texts: pl.Series, tokenizer: Tokenizer) -> NDArray[np.int64]:
    return np.array(tokenizer.counts([f" {text}" for text in texts]), dtype=np.int64)


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
