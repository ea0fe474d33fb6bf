"""A scorer and a selector of paths whose judgements are known."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from graphrag_dagster.core.language.path_selection import Level, Selection, Sufficiency
from graphrag_dagster.core.language.tasks import Engine
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.verbalised import Verbalised


@dataclass
class KnownScorer:
    """Scores texts as it is told, others as 0; remembers how many texts it was shown."""

    known: Mapping[str, float] = field(default_factory=dict)
    shown: list[int] = field(default_factory=list)
    name: str = "known"

    def scores(self, question: str, candidates: Verbalised) -> Scores:
        self.shown.append(len(candidates))
        return np.array([self.known.get(text, 0.0) for text in candidates.texts])

    def tokens(self, candidates: Verbalised) -> int:
        return 2 * len(candidates)


@dataclass
class KnownSelector:
    """Selects the texts that it is told; remembers what it was shown, and as what."""

    wanted: frozenset[str] = frozenset()
    asked: list[tuple[Level, list[str]]] = field(default_factory=list)
    engine: Engine = "extractive"

    def select(self, level: Level, question: str, candidates: Verbalised, most: int) -> Selection:
        self.asked.append((level, candidates.texts))
        places = [place for place, text in enumerate(candidates.texts) if text in self.wanted]
        return Selection(np.array(places, dtype=np.int64), len(candidates))

    def enough(self, question: str, paths: Verbalised) -> Sufficiency:
        return Sufficiency(enough=False)
