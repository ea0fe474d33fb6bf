"""Base forms of single words, without looking for those of all others."""

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from spacy.language import Language

#: Forms of verbs behind an apostrophe, which no rule knows.
_SHORT = {"'s": "be", "'re": "be", "'m": "be", "'ve": "have"}


class Lemmas:
    """Looks words up by the rules of a loaded pipeline; without such rules a word is its own base form."""

    def __init__(self, nlp: "Language") -> None:
        self._vocab = nlp.vocab
        found: Any = nlp.get_pipe("lemmatizer") if "lemmatizer" in nlp.component_names else None
        self._rules = found if getattr(found, "mode", None) == "rule" else None

    def of(self, word: str, part: Literal["VERB", "NOUN"]) -> str:
        """Return the base form of a word, in lower case."""
        from spacy.tokens import Doc

        lower = word.lower().replace("’", "'")
        if part == "VERB" and lower in _SHORT:
            return _SHORT[lower]
        if self._rules is None:
            return lower
        found: list[str] = self._rules.rule_lemmatize(Doc(self._vocab, words=[lower], pos=[part])[0])
        return found[0]
