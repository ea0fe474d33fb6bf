"""What the parse of a sentence calls the relation of two things: its verb, or the noun that links them."""

from collections.abc import Sequence

from graphrag_dagster.core.language.extractive.parsing.lemmas import Lemmas
from graphrag_dagster.core.language.extractive.parsing.pipeline import Tokens
from graphrag_dagster.core.text.relations import RELATED_TO, relation_label

#: Behind a verb, at most so many words lead to its object; of more only the last is told.
_LONGEST_WAY = 3
#: Words around a verb among which its negation and its particle are.
_AROUND = 4
_IDENTITY = "be"
_BELONGS = "of"
_BELONGING = frozenset({"poss", "compound", "nmod", "amod"})


class RelationLabels:
    """Makes labels of words of a unit. A way is the prepositions, and the nouns that they hang on, from a
    name up to what it belongs to.
    """

    def __init__(self, tokens: Tokens, lemmas: Lemmas) -> None:
        self._tokens = tokens
        self._lemmas = lemmas

    def of_verb(self, verb: int, way: Sequence[int]) -> str:
        """Return what a verb says of its subject and what is at the end of the way: ``depend_on``,
        ``become_director_of``, ``not_take_over``.
        """
        negated = ["not"] if self._near(verb, "neg") is not None else []
        particle = self._near(verb, "prt")
        base = self._lemmas.of(self._tokens.words[verb], "VERB")
        whole = [base] if particle is None else [base, self._tokens.words[particle]]
        told = way if len(way) <= _LONGEST_WAY else way[:1]
        return _label([*negated, *whole, *self._written(told)])

    def of_noun(self, dependency: str, way: Sequence[int]) -> str:
        """Return how a name belongs to another without a verb: ``ceo_of``, ``in``, ``of`` and ``be``.

        Args:
            dependency: of the name, where the way is empty.
            way: to the other name.
        """
        if way:
            return _label(self._written(way))
        if dependency == "appos":
            return _IDENTITY
        return _BELONGS if dependency in _BELONGING else RELATED_TO

    def of_holder(self, noun: int) -> str:
        """Return what a name is to another by a noun between them: ``ceo_of``."""
        return _label([*self._written([noun]), _BELONGS])

    def _written(self, way: Sequence[int]) -> list[str]:
        tokens = self._tokens
        return [
            self._lemmas.of(tokens.words[place], "NOUN")
            if tokens.tags[place].startswith("NN")
            else tokens.words[place]
            for place in reversed(way)
        ]

    def _near(self, verb: int, dependency: str) -> int | None:
        tokens = self._tokens
        around = range(max(0, verb - _AROUND), min(len(tokens), verb + _AROUND + 1))
        found = (one for one in around if tokens.deps[one] == dependency and tokens.heads[one] == verb)
        return next(found, None)


def _label(words: Sequence[str]) -> str:
    return relation_label(" ".join(words)) or RELATED_TO
