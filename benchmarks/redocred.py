"""Re-DocRED's documents as mentions, the halves for choosing weights and for measuring, and the measures."""

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphrag_dagster.kernel.graph.undirected_graph import connected_components
from graphrag_dagster.systems.graphrag.resolution.name_scopes import NameMention

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "redocred" / "dev_revised.json"
SEED = 20


@dataclass(frozen=True, slots=True)
class Document:
    """A document with its mentions, each with the number of its entity there; ``title`` is unique."""

    title: str
    sentences: tuple[str, ...]
    mentions: tuple[tuple[NameMention, int], ...]

    def headline(self) -> frozenset[int]:
        """The entities that the document is about: those that bear its title, what is in brackets aside."""
        title = self.title.split(" (")[0].casefold()
        return frozenset(entity for one, entity in self.mentions if one.name.casefold() == title)


def documents(path: Path = DATA) -> list[Document]:
    """Return the documents in the order of the file."""
    found = []
    for row in json.loads(path.read_text()):
        mentions = tuple(
            (NameMention(row["title"], one["sent_id"], one["name"], one["type"]), entity)
            for entity, named in enumerate(row["vertexSet"])
            for one in named
        )
        found.append(Document(row["title"], tuple(map(" ".join, row["sents"])), mentions))
    return found


def halves(all_documents: Sequence[Document]) -> dict[str, list[Document]]:
    """Return the documents by which is chosen, and those that are measured."""
    shuffled = sorted(all_documents, key=lambda one: one.title)
    random.Random(SEED).shuffle(shuffled)
    return {"fit": shuffled[: len(shuffled) // 2], "measured": shuffled[len(shuffled) // 2 :]}


def sentences(chosen: Iterable[Document]) -> dict[tuple[str, int], str]:
    """Return the sentences by document and number."""
    return {(one.title, number): text for one in chosen for number, text in enumerate(one.sentences)}


def mentions(chosen: Iterable[Document]) -> list[NameMention]:
    """Return the mentions without what they mean."""
    return [mention for one in chosen for mention, _ in one.mentions]


@dataclass(frozen=True, slots=True)
class Score:
    """Precision and recall, from what was right, found and there."""

    right: float
    found: float
    there: float

    def __str__(self) -> str:
        precision = self.right / self.found if self.found else 1.0
        recall = self.right / self.there if self.there else 1.0
        both = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        return f"{precision:.3f} {recall:.3f} {both:.3f}"


def pairs(gold: Sequence[object], given: Sequence[object]) -> Score:
    """Return the pairwise score of a clustering; ``gold`` and ``given`` say each element's cluster."""

    def together(labels: Iterable[object]) -> int:
        return sum(count * (count - 1) // 2 for count in Counter(labels).values())

    return Score(together(zip(gold, given, strict=True)), together(given), together(gold))


def b_cubed(gold: Sequence[object], given: Sequence[object]) -> tuple[float, float]:
    """Return B³ precision and recall."""
    both, given_sizes, gold_sizes = Counter(zip(gold, given, strict=True)), Counter(given), Counter(gold)
    each = [
        (both[g, c] / given_sizes[c], both[g, c] / gold_sizes[g]) for g, c in zip(gold, given, strict=True)
    ]
    return sum(one for one, _ in each) / len(each), sum(one for _, one in each) / len(each)


Clusters = Mapping[tuple[str, str, str], object]


def within(chosen: Sequence[Document], clusters: Clusters) -> str:
    """Return the scores within documents of mentions, and of pairs of different spellings, as a row."""
    gold, given, other_gold, other_given = [], [], [], []
    for one in chosen:
        for mention, entity in one.mentions:
            gold.append((one.title, entity))
            given.append((one.title, clusters[one.title, mention.name, mention.type]))
        for (mention_name, kind), entity in sorted({((m.name, m.type), e) for m, e in one.mentions}):
            other_gold.append((one.title, entity))
            other_given.append((one.title, clusters[one.title, mention_name, kind]))
    precision, recall = b_cubed(gold, given)
    both = 2 * precision * recall / (precision + recall)
    return (
        f"mentions {pairs(gold, given)} | B³ {precision:.3f} {recall:.3f} {both:.3f}"
        f" | spellings {pairs(other_gold, other_given)}"
    )


def across(chosen: Sequence[Document], clusters: Clusters) -> str:
    """Return the pairwise score of mentions over all documents put together.

    Entities of two documents are one where they bear an equal name, upper and lower case aside, and type,
    and by way of others; of persons a name of two words at least, since a family name alone tells nobody.
    What a document is about (by its title) is never linked so.
    """
    entities: dict[tuple[str, int], int] = {}
    bearers: dict[tuple[str, str], set[int]] = defaultdict(set)
    for one in chosen:
        about = one.headline()
        for mention, entity in one.mentions:
            number = entities.setdefault((one.title, entity), len(entities))
            if entity not in about and (mention.type != "PER" or " " in mention.name):
                bearers[mention.name.casefold(), mention.type].add(number)
    links = [(min(found), other) for found in bearers.values() for other in found]
    ends = np.array(links, dtype=np.int64).reshape(-1, 2)
    roots = connected_components(ends[:, 0], ends[:, 1], len(entities))
    gold = [int(roots[entities[one.title, entity]]) for one in chosen for _, entity in one.mentions]
    given = [clusters[one.title, mention.name, mention.type] for one in chosen for mention, _ in one.mentions]
    precision, recall = b_cubed(gold, given)
    return f"mentions {pairs(gold, given)} | B³ {precision:.3f} {recall:.3f}"
