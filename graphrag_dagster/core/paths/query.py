"""A question to a graph, with the nodes that it begins from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PathQuery:
    """A question and its seeds.

    Attributes:
        question: its text.
        seeds: nodes of the store that it names, without repeats, the surest first; may be none.
    """

    question: str
    seeds: tuple[int, ...]
