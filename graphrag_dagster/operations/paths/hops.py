"""The steps of questions, told from others whose steps are known."""

from collections.abc import Iterable, Mapping

import polars as pl

from graphrag_dagster.core.language.embedders import shared_static
from graphrag_dagster.core.paths.hops import told_apart
from graphrag_dagster.core.paths.recipes import Recipe


def hops_told(questions: pl.DataFrame, recipes: Iterable[Recipe]) -> Mapping[str, int]:
    """Return the steps of each question with known ones, as told without it and without its topic.

    What is known of a question itself is never used for it. Nothing is told where no instance combines
    switches by it, or where too little is known.

    Args:
        questions: rows of ``paths.questions``.
        recipes: of the instances.
    """
    if not any(recipe.options.switches.combine for recipe in recipes):
        return {}
    known = questions.filter(pl.col("hops").is_not_null() & (pl.col("seeds").list.len() > 0)).sort("position")
    asked = known["question"].to_list()
    topics = known["seeds"].list.first().to_list()
    told = told_apart(shared_static(), asked, known["hops"].to_list(), topics)
    return dict(zip(asked, told, strict=True)) if told else {}
