"""Follow-up questions that wait to be asked."""

from collections.abc import Sequence

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.search.question import checked
from graphrag_dagster.errors import QuestionError


class OpenQuestions:
    """Questions to ask, the best first, each once; never the question they are to help with.

    Those of more helpful answers come first, then those that stand first in their answer; the seed decides
    between equally good ones. Case, blanks and punctuation make no other question.

    Args:
        question: what they are to help with.
        seed: decides between equally good ones.
    """

    def __init__(self, question: str, seed: int) -> None:
        self._seed = seed
        self._known = {normal(question)}
        self._open: dict[str, tuple[int, int, str]] = {}
        self.problems: list[str] = []

    def __len__(self) -> int:
        return len(self._open)

    def add(self, follow_ups: Sequence[str], score: int) -> None:
        """Take in what an answer with that score asks; what cannot be asked becomes a problem."""
        for place, text in enumerate(follow_ups):
            key = normal(text)
            if key in self._known:
                continue
            self._known.add(key)
            try:
                self._open[checked(text)] = (-score, place, stable_id(self._seed, key))
            except QuestionError as problem:
                self.problems.append(f"a follow-up question could not be asked: {problem}")

    def take(self, most: int) -> list[str]:
        """Take the best questions out."""
        chosen = sorted(self._open, key=self._open.__getitem__)[:most]
        for one in chosen:
            del self._open[one]
        return chosen


def normal(question: str) -> str:
    """Return what two questions have in common that are the same: their letters and digits, lower case."""
    return " ".join("".join(one if one.isalnum() else " " for one in question.casefold()).split())
