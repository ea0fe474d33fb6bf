"""Comparisons: sentences that name both sides, then those of each."""

from collections.abc import Sequence

import numpy as np

from graphrag_dagster.core.language.extractive.answering.sentences import Sentence
from graphrag_dagster.core.language.tasks import Point
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.similarity import repeats, stems, words

_OF_ONE = 4


def of_both(sides: Sequence[str], sentences: Sequence[Sentence], value: Scores) -> list[Point]:
    """Return the best sentences that name both sides, then those of the first and of the second.

    A sentence names a side by more than half of its words.

    Nothing where a side is named nowhere.

    Args:
        sides: two, as the question words them.
        sentences: of all rows, in their order.
        value: how well each answers, 0 for those that are not to be quoted.
    """
    wanted = [frozenset(stems(side)) for side in sides]
    # Words that both sides share tell neither from the other.
    own = [one - wanted[1 - number] or one for number, one in enumerate(wanted)]
    said = {
        int(place): frozenset(stems(sentences[place].text))
        for place in np.argsort(-value, kind="stable")
        if value[place] > 0
    }
    named = {place: tuple(2 * len(one & stems_) > len(one) for one in own) for place, stems_ in said.items()}
    if not all(any(one[side] for one in named.values()) for side in (0, 1)):
        return []
    points: list[Point] = []
    taken: list[tuple[str, ...]] = []
    headings = {(True, True): " and ".join(sides), (True, False): sides[0], (False, True): sides[1]}
    for which, heading in headings.items():
        group = 0
        for place in (place for place, one in named.items() if one == which):
            one = sentences[place]
            if group < _OF_ONE and not repeats(words(one.text), taken):
                taken.append(words(one.text))
                group += 1
                title = heading[0].upper() + heading[1:]
                points.append(Point(title, (one.quotation,), 0.0, one.row.kind))
    return points
