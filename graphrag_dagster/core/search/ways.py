"""Ways of answering by their names, and what they give."""

from dataclasses import replace
from typing import TypeVar

from graphrag_dagster.catalogue.registry import in_plugin, loaded, ways
from graphrag_dagster.catalogue.ways import Way, at_level
from graphrag_dagster.core.search.asked import Asked, Basis
from graphrag_dagster.core.search.context.answer import Answer
from graphrag_dagster.core.search.context.levels import level_of
from graphrag_dagster.core.search.options import SearchOptions
from graphrag_dagster.errors import EngineError, QuestionError

B = TypeVar("B", bound=Basis)


def known_way(name: str) -> Way | None:
    """Return the way of answering of a name, in whatever capitals; ``C<k>`` of deeper levels is one too."""
    for own, way in ways().items():
        if own.casefold() == name.casefold():
            return way
    try:
        return at_level(level_of(name.upper())) if _of_a_level(name) else None
    except QuestionError:
        return None


def way_of(name: str) -> Way:
    """Return the way of answering of a name.

    Raises:
        QuestionError: there is none, which lists those there are, or it names a level that cannot be.
    """
    if (way := known_way(name)) is not None:
        return way
    if _of_a_level(name):
        return at_level(level_of(name.upper()))
    raise QuestionError(f"there is no way of answering {name!r}; there are {', '.join(ways())}")


def _of_a_level(name: str) -> bool:
    return name[:1] in {"C", "c"} and name[1:].isdigit()


def level_read(way: Way, chosen: int | None, options: SearchOptions) -> int | None:
    """Return the community level that a way of answering reads.

    Args:
        way: the way of answering.
        chosen: level that was asked for.
        options: with the level that is read otherwise.
    """
    if way.levelled:
        return options.level if chosen is None else chosen
    return way.level


def in_way(basis: B, name: str) -> B:
    """Return the same, to be answered in another way.

    Raises:
        QuestionError: there is none of that name.
    """
    way = way_of(name)
    return replace(basis, way=way, level=level_read(way, None, basis.options))


def answered(asked: Asked) -> Answer:
    """Return what a question's way of answering gives.

    Raises:
        CatalogueError: its declaration names what cannot be loaded.
        EngineError: it gives something else than an answer.
        PluginError: it is another package's, and failed.
    """
    with in_plugin("method", asked.way.name, "answering a question"):
        made = loaded(asked.way.answer)(asked)
    if not isinstance(made, Answer):
        raise EngineError(
            f"the way of answering {asked.way.name} gave a {type(made).__name__}, not an Answer"
        )
    return made
