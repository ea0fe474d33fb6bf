"""What a report and its findings are about, as names."""

from collections.abc import Collection, Sequence

from graphrag_dagster.engines.extractive.covering import Candidate
from graphrag_dagster.engines.extractive.names.wordlists import OFFICES
from graphrag_dagster.kernel.tasks.ports import ReportRequest
from graphrag_dagster.kernel.text.phrases import shared_phrases
from graphrag_dagster.kernel.text.similarity import words

_NAMED = 2


class Subjects:
    """The members of a community and their relationships, to name what sentences are about.

    ``ranked``: the members, highest degree first, then by title; ``titles``: by local id.
    """

    def __init__(self, request: ReportRequest) -> None:
        self.ranked = sorted(request.entities, key=lambda entity: (-entity.degree, entity.title, entity.id))
        self.titles = {entity.id: entity.title for entity in request.entities}
        self._degrees = {entity.id: entity.degree for entity in request.entities}
        self._relationships = {one.id: one for one in request.relationships}

    def of(self, sentence: Candidate, used: Collection[tuple[int, ...]]) -> tuple[int, ...]:
        """Return the ids of the one or two members that a sentence is about, the one of higher degree first.

        These are the ends of its heaviest relationship that is not ``used`` yet, and does not join two forms
        of one name; else the member it names that has the highest degree; none if it names no member.
        """
        stated = [self._relationships[one] for one in sentence.relationships if one in self._relationships]
        stated.sort(key=lambda one: (-one.weight, -one.combined_degree, one.id))
        pairs = [
            tuple(sorted((one.source, one.target), key=lambda end: (-self._degrees.get(end, 0), end)))
            for one in stated
        ]
        for pair in pairs:
            first, second = (self.titles.get(end, "") for end in pair)
            if pair not in used and not overlaps(first, [second]):
                return pair
        named = [entity.id for entity in self.ranked if entity.id in sentence.entities]
        for one in named:
            if (one,) not in used:
                return (one,)
        return pairs[0] if pairs else tuple(named[:1])


def title_of(request: ReportRequest, sentences: Sequence[str] = ()) -> str:
    """Return the two members of the highest degree and what is said of them: ``A and B: mooring plan``.

    That is the phrase that most sentences share, offices of people aside; none where there is no such phrase.
    A name whose words all stand in one before it, or the other way round, is passed over. Where reports of
    sub-communities stand in for members, the names that lead their titles come first, the longest first.

    Args:
        request: with members and reports.
        sentences: what can be quoted of them.
    """
    longest = sorted(request.reports, key=lambda report: (-len(report.content), report.id))
    leads = [_lead(report.title) for report in longest]
    names: list[str] = []
    for name in (*leads, *(entity.title for entity in Subjects(request).ranked)):
        if len(names) < _NAMED and name and not overlaps(name, names):
            names.append(name)
    # Names with "and" in them would not be told apart.
    whole = "; ".join(names) if any(" and " in name for name in names) and len(names) > 1 else joined(names)
    topics = (one for one in shared_phrases(sentences) if not OFFICES.intersection(one.split()))
    topic = next((one for one in topics if not overlaps(one, names)), "")
    return ": ".join(filter(None, (whole, topic))) or "Unnamed community"


def _lead(title: str) -> str:
    """The first name of a title that :func:`title_of` made."""
    names = title.rsplit(": ", 1)[0]
    for mark in ("; ", ", "):
        if mark in names:
            return names.split(mark)[0]
    first, _, rest = names.partition(" and ")
    return first if rest.count(" and ") == 0 else names


def joined(names: Sequence[str]) -> str:
    """Return names as one phrase: ``A``, ``A and B``, ``A, B and C``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def overlaps(name: str, others: Collection[str]) -> bool:
    """Return whether all words of a name stand in one of the others, or all of its words in the name."""
    own = set(words(name))
    return any(own <= other or other <= own for other in (set(words(one)) for one in others))
