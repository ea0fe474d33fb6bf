"""What a text is about by how it begins: "Ana Kell (born 1970) is a painter" is about Ana Kell."""

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from graphrag_dagster.core.paths.graph_texts import Texts
from graphrag_dagster.core.search.kept import mapped_arrays, write_arrays, write_parts
from graphrag_dagster.core.search.retrieval.words import words
from graphrag_dagster.core.search.retrieval.words_in_order import NumbersByWord
from graphrag_dagster.core.text.english_words import SUBJECT_ELSEWHERE

_READ = 200
_MOST_WORDS = 10
_MOST_OF_LAST = 100
_OTHERWISE, _LEAST_SHORT = 0.8, 3
# What ends the subject of a sentence that says what something is; the full stop of an initial does not.
_END = re.compile(
    r"\b(?:is|was|are|were|refers|also known|also called|or|commonly|formerly|officially|born|has|have|had"
    r"|consists?|became|served|stars|starring)\b|[(\[,;:–—\n]|(?<=[a-z0-9)])\.(?:\s|$)"
)
_QUOTES = "\"“”‘’'` "
_ARTICLE = re.compile(r"^(?:The|A|An)\s+")
_CALLED = re.compile(
    r"\b(?:known as|called|née|born|pen name|stage name)\s+[\"“]?((?:[A-Z][\w'’.-]*\s?){1,4})"
)


def leads(text: str) -> tuple[str, ...]:
    """Return what the first sentence of a text is about, and what it says that is also called; maybe nothing.

    >>> leads('The "Blue Harbour" is a film.')
    ('Blue Harbour',)
    >>> leads("Ernest Shaw (born 1975), better known as DJ Clue, is a singer.")
    ('Ernest Shaw', 'DJ Clue')
    >>> leads("In the morning it was cold.")
    ()
    """
    begin = text[:_READ].lstrip()
    end = _END.search(begin)
    if end is None or end[0].startswith("."):
        return ()
    subject = _ARTICLE.sub("", begin[: end.start()].strip(_QUOTES)).strip(_QUOTES)
    written = subject.split()
    if not written or len(written) > _MOST_WORDS or written[0].lower() in SUBJECT_ELSEWHERE:
        return ()
    capitals = sum(word[0].isupper() or not word[0].isalpha() for word in written)
    if not (written[0][0].isupper() or written[0][0].isdigit()) or 3 * capitals < len(written):
        return ()
    called = (found[1].strip(". ") for found in _CALLED.finditer(begin))
    return tuple(dict.fromkeys((subject, *(name for name in called if name))))


class LeadIndex:
    """Finds the texts that are about a name although they spell it with more words.

    Args:
        of_texts: what each text is about: the words of a lead with blanks between, a line each.
        with_word: the texts of whose leads one has a word.
    """

    def __init__(self, of_texts: Texts, with_word: NumbersByWord) -> None:
        self._of_texts = of_texts
        self._with_word = with_word

    @classmethod
    def of(cls, of_texts: Sequence[Sequence[str]]) -> "LeadIndex":
        """Return what finds texts.

        Args:
            of_texts: what each text is about.
        """
        told = [[found for lead in one if (found := words(lead))] for one in of_texts]
        with_word: dict[str, list[int]] = defaultdict(list)
        for place, split in enumerate(told):
            for word in dict.fromkeys(word for lead in split for word in lead):
                with_word[word].append(place)
        lines = Texts.of("\n".join(map(" ".join, split)) for split in told)
        return cls(lines, NumbersByWord.of(with_word))

    def write(self, folder: Path) -> None:
        """Write it into a folder that is there; see :meth:`opened`."""
        write_parts(folder, {"with_word": self._with_word})
        write_arrays(folder, {"block": self._of_texts.block, "starts": self._of_texts.starts})

    @classmethod
    def opened(cls, folder: Path) -> "LeadIndex":
        """Return what was written into a folder, mapped.

        Raises:
            FileNotFoundError: a file is missing.
            WarehouseError: one is damaged.
        """
        of_texts = Texts(*mapped_arrays(folder, ("block", "starts")).values())
        return cls(of_texts, NumbersByWord.opened(folder / "with_word"))

    def about(self, name: Sequence[str]) -> dict[int, float]:
        """Return the texts whose lead has the words of a name, and how much of it they are, 0–1.

        Words may stand between; a longer form of a first name, and another order, count less.
        """
        spelled = [word for word in name if len(word) > 1] or list(name)
        found: dict[int, float] = {}
        for place in self._likely(spelled):
            told = (line.split(" ") for line in self._of_texts[place].split("\n"))
            best = max(_covered(spelled, lead) * min(1.0, len(name) / len(lead)) for lead in told)
            if best:
                found[place] = best
        return found

    def _likely(self, spelled: Sequence[str]) -> list[int]:
        if not spelled:
            return []
        rarest = min(map(self._with_word.of_word, spelled), key=len)
        of_last = self._with_word.of_word(spelled[-1])
        return sorted({*rarest, *(of_last if len(of_last) <= _MOST_OF_LAST else [])})


def _covered(name: Sequence[str], lead: Sequence[str]) -> float:
    remaining = iter(lead)
    if all(word in remaining for word in name):
        return 1.0
    if len(name) == 1:
        return 0.0
    if set(name) <= set(lead):
        return _OTHERWISE
    return _OTHERWISE * (name[-1] in lead and all(map(partial(_stands_for, lead), name[:-1])))


def _stands_for(lead: Sequence[str], word: str) -> bool:
    return any(one == word or (len(word) >= _LEAST_SHORT and one.startswith(word)) for one in lead)
