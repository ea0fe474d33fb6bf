"""Lists: what of a kind is named in the sentences that have to do with a question, counted over documents."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.extractive.parsing.lexicon import PERSON
from graphrag_dagster.core.language.extractive.parsing.quotable import readability
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.wording import counted


@dataclass(slots=True)
class _Named:
    places: list[int] = field(default_factory=list)
    documents: set[str] = field(default_factory=set)


def listed(question: str, type_: str, sentences: Sequence[Sentence], value: Scores, most: int) -> list[Point]:
    """Return the entities of the wanted type, those of most documents first, each with a sentence.

    Args:
        question: as asked; what it names itself is not listed.
        type_: of entities.
        sentences: of all rows, in their order.
        value: how well each answers; names are taken from those above 0.
        most: how many.
    """
    found: dict[str, _Named] = defaultdict(_Named)
    counted_already: set[str] = set()
    for place, one in enumerate(sentences):
        if one.text in counted_already or value[place] <= 0:
            continue
        counted_already.add(one.text)
        for name in _names(one, type_):
            if name.lower() not in question.lower():
                found[name].places.append(place)
                found[name].documents.add(one.document)
    if type_ == PERSON and any(" " in name for name in found):
        # A word alone is part of a name, or none.
        found = {name: one for name, one in found.items() if " " in name}
    ranked = sorted(found, key=lambda name: (-len(found[name].documents), -len(found[name].places), name))
    quoted: set[str] = set()
    points = []
    for name in ranked[:most]:
        one = _best(found[name], sentences, value, quoted)
        quoted.add(one.text)
        documents = counted(len(found[name].documents), "document")
        title = f"{name}: {documents}, {counted(len(found[name].places), 'mention')}"
        points.append(Point(title, (one.quotation,), 0.0, one.row.kind))
    return points


def _names(one: Sentence, type_: str) -> Iterator[str]:
    if one.row.background is None or one.quote is None:
        return
    for name, kind in one.row.background.names(one.quote.unit_id):
        if kind == type_ and name in one.text:
            yield name


def _best(named: _Named, sentences: Sequence[Sentence], value: Scores, quoted: set[str]) -> Sentence:
    def worth(place: int) -> tuple[bool, float, int]:
        one = sentences[place]
        return one.text not in quoted, float(value[place]) * (0.5 + readability(one.text)), -place

    return sentences[max(named.places, key=worth)]
