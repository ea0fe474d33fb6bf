"""Taking a question apart into what can be looked for by itself."""

from collections.abc import Sequence
from typing import Protocol

from graphrag_dagster.core.search.retrieval.words import words_with_case

#: Words at which a clause begins, or the other side of a choice.
_BEGINS = frozenset(
    ["who", "whom", "whose", "which", "that", "what", "where", "when", "why", "how", "whether"]
)
_JOINS = frozenset(["and", "or", "than"])


class Decomposer(Protocol):
    """Takes questions apart."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the parts of a question, in its words; the whole where it has none."""


class Clauses:
    """Takes questions apart at the words that begin clauses and join them, by rule (English)."""

    def parts(self, question: str) -> Sequence[str]:
        """Return the clauses of a question.

        >>> Clauses().parts("Where was the man who built the Tallow born, or his wife?")
        ('was the man', 'built the Tallow born', 'his wife')
        """
        found = words_with_case(question)
        cuts = [at for at, word in enumerate(found.folded) if word in _BEGINS or word in _JOINS]
        bounds = zip([-1, *cuts], [*cuts, len(found.folded)], strict=True)
        return tuple(found.text(start + 1, end) for start, end in bounds if end > start + 1)
