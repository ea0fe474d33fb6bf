"""Entity resolution of a corpus as tables."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from operator import itemgetter
from sys import intern
from typing import Any

import polars as pl

from graphrag_dagster.engines.extractive.parsing.type_lexicon import MADE, PLACES_LIKE_PEOPLE
from graphrag_dagster.kernel.common.stable_values import stable_id
from graphrag_dagster.kernel.tasks.name_judging_ports import Ruling
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from graphrag_dagster.kernel.text.text_similarity import normalise
from graphrag_dagster.systems.graphrag.resolution.candidate_pairs import forget_names
from graphrag_dagster.systems.graphrag.resolution.entity_resolution import Judge, Resolution, resolve
from graphrag_dagster.systems.graphrag.resolution.human_decisions import Decisions, NameRuling
from graphrag_dagster.systems.graphrag.resolution.name_pairs import (
    TEXTS_ONCE,
    Comparing,
    Earlier,
    pair_columns,
)
from graphrag_dagster.systems.graphrag.resolution.name_parsing import COUNTRIES, kind_of
from graphrag_dagster.systems.graphrag.resolution.name_scopes import NameMention
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES, CANDIDATES, DECISIONS

_AT_ONCE = 20_000
_OF_DOCUMENT = ["document_id", "name"]
#: Names of other things, in small letters, that begin names of people.
_NEVER_GIVEN = MADE | PLACES_LIKE_PEOPLE | COUNTRIES.keys()


@dataclass(frozen=True, slots=True)
class ResolutionFrames:
    """The tables of resolution, and what else is told of it.

    Attributes:
        candidates: rows of ``resolution.candidates``, with :data:`.name_pairs.TEXTS_ONCE`.
        decisions: rows of ``resolution.decisions``, likewise.
        aliases: rows of ``resolution.aliases``.
        left_out: pairs of large blocks that were not compared.
        namesakes: groups of names that are spelled alike and are not one.
        reused: pairs that were compared before.
    """

    candidates: pl.DataFrame
    decisions: pl.DataFrame
    aliases: pl.DataFrame
    left_out: int = 0
    namesakes: int = 0
    reused: int = 0


def unresolved_frames(
    gleaned_entities: pl.DataFrame, text_chunks: pl.DataFrame, documents: pl.DataFrame
) -> ResolutionFrames:
    """Return the tables where nothing is compared: each name is the entity of that name."""
    names = corpus_names(gleaned_entities, text_chunks, documents).names
    titles = (
        names.group_by("name", "surface")
        .agg(pl.sum("mentions"))
        .sort("name", "mentions", "surface", descending=[False, True, False])
        .unique("name", keep="first", maintain_order=True)
        .select("name", title="surface")
    )
    aliases = names.join(titles, on="name").with_columns(full_name="surface", entity="name")
    return ResolutionFrames(CANDIDATES.empty(), DECISIONS.empty(), _in_table_order(aliases))


def resolve_corpus(
    gleaned_entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    documents: pl.DataFrame,
    people: Decisions,
    judge: Judge | None = None,
    earlier: Earlier | None = None,
) -> ResolutionFrames:
    """Return which names of a corpus are one entity.

    Args:
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``.
        people: what people decided, documents by path or id.
        judge: rules on what the rules leave open; None leaves it open.
        earlier: what was compared before, by the same code; changes nothing but how long this takes.

    Raises:
        SettingsError: decisions of people contradict each other.
    """
    found = corpus_names(gleaned_entities, text_chunks, documents)
    titles = dict(documents.select("document_id", "title").iter_rows())
    meant = [(word, _decisions_by_document(word, documents)) for word in people.words]
    said = Decisions([one for _, ones in meant for one in ones])
    comparing = Comparing(earlier, found.names)

    done = resolve(
        # Passed on one by one, so that they are not kept here as well.
        (found.mentions.pop() for _ in range(len(found.mentions))),
        found.sentences,
        said,
        titles=titles,
        judge=judge,
        comparing=comparing,
    )
    forget_names()
    idle = set(done.unused)
    unused = dict.fromkeys(word for word, ones in meant if idle.issuperset(ones))
    return ResolutionFrames(
        comparing.frame(),
        _decision_rows(chain(_decisions(done), _unused_decisions(unused, documents))),
        _aliases(found.names, done),
        sum(scope.left_out for scope in done.scopes),
        len(done.namesakes),
        comparing.reused,
    )


def _decisions_by_document(word: NameRuling, documents: pl.DataFrame) -> list[NameRuling]:
    """Return what was said of a file as said of each document in it, by id."""
    if word.document is None:
        return [word]
    inside = documents.filter(pl.col("path") == word.document)["document_id"].sort().to_list()
    return [replace(word, document=one) for one in inside or [word.document]]


def _decision_rows(rows: Iterator[tuple[Any, ...]]) -> pl.DataFrame:
    # Some at a time: all of them together would be sorted here, and so held twice.
    parts = [DECISIONS.empty().with_columns(TEXTS_ONCE)]
    while some := list(islice(rows, _AT_ONCE)):
        parts.append(DECISIONS.frame_of(some).with_columns(TEXTS_ONCE))
    return pl.concat(parts)


def _decisions(done: Resolution) -> Iterator[tuple[Any, ...]]:
    for one in done.decisions:
        yield (
            *pair_columns(one.document, one.one, one.other),
            *(one.verdict, one.by, one.reason, one.score),
            *_decision_columns(one.word),
            *_question_columns(one.ruling),
        )


def _unused_decisions(words: Iterable[NameRuling], documents: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    known = {*documents["path"], *documents["document_id"]}
    for word in words:
        where = "the texts" if word.document is None else word.document
        missing = f"no two of these names are in {where}"
        if word.document is not None and word.document not in known:
            missing = f"there is no document {word.document}"
        reason = f"{word.verdict}: {', '.join(word.names)}; {missing}"
        yield (
            stable_id("unused", word.verdict, *word.names, word.document, word.identity),
            *(None, word.names[0], "", word.names[1], ""),
            *("unused", "person", reason, None),
            *_decision_columns(word),
            *_question_columns(None),
        )


def _decision_columns(word: NameRuling | None) -> tuple[str | None, ...]:
    return (word.identity, word.who, word.when) if word else (None, None, None)


def _question_columns(ruling: Ruling | None) -> tuple[str | None, int]:
    problem = ruling.reason if ruling and ruling.problem else None
    return problem, int(ruling is not None and ruling.repaired)


def _aliases(names: pl.DataFrame, done: Resolution) -> pl.DataFrame:
    spellings = list(names.select("document_id", "surface", "type").iter_rows())
    titles = [done.entities[spelling][0] for spelling in spellings]
    return _in_table_order(
        names.with_columns(
            pl.Series("full_name", [done.heads[spelling][0] for spelling in spellings], pl.String),
            pl.Series("entity", list(map(normalise, titles)), pl.String),
            pl.Series("title", titles, pl.String),
        )
    )


def _in_table_order(aliases: pl.DataFrame) -> pl.DataFrame:
    return aliases.select([column.name for column in ALIASES.columns]).sort(_OF_DOCUMENT)


@dataclass(frozen=True, slots=True)
class CorpusNames:
    """Input of resolution.

    Attributes:
        names: ``document_id``, ``name``, ``surface``, ``type``, ``mentions``, ``since``, ``places``: one row
            a name and document, sorted by both.
        mentions: a spelling, type and sentence for each place where a name stands.
        sentences: of the texts in which two names stand or more, by document and number.
    """

    names: pl.DataFrame
    mentions: list[NameMention]
    sentences: Mapping[tuple[str, int], str]


def corpus_names(
    gleaned_entities: pl.DataFrame, text_chunks: pl.DataFrame, documents: pl.DataFrame
) -> CorpusNames:
    """Return the names of a corpus.

    In a document a name has its commonest spelling and its commonest type; of equally common ones the
    first. A given name has the type of the one full name that explains it. A place in overlapping text
    units counts once. A name without a place, as a model may give it, stands in a sentence of its own.

    Args:
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        documents: rows of ``corpus.documents``.
    """
    units = text_chunks.select("text_unit_id", "document_id", "start_char", order="human_readable_id")
    placed = (
        gleaned_entities.join(units, on="text_unit_id")
        .sort("order", "round", "position")
        .with_columns(pl.when(pl.col("spans").list.len() > 0).then("spans"))
        .explode("spans")
        .select(
            *("document_id", "name", "surface", "type"),
            place=pl.col("start_char") + pl.col("spans").struct.field("start"),
        )
        .with_row_index("seen")
    )
    known = placed.unique(["document_id", "name", "place"], keep="first", maintain_order=True)
    bare = placed.filter(pl.col("place").is_null())
    placed = pl.concat([known.filter(pl.col("place").is_not_null()), bare])
    keys = ["document_id", "name"]
    names = (
        placed.group_by(keys)
        .agg(
            mentions=pl.len().cast(pl.Int32),
            since=pl.col("place").min().cast(pl.Int32),
            places=pl.col("place").sort().cast(pl.String).str.join(","),
        )
        .with_columns(pl.col("places").map_elements(stable_id, pl.String))
        .join(_commonest_names(placed, "surface"), on=keys)
        .join(_commonest_names(placed, "type"), on=keys)
        .select(*keys, "surface", "type", "mentions", "since", "places")
        .sort(keys)
    )
    names = _with_given_names_typed(names)
    mentions, sentences = _mentions_in_sentences(
        placed.drop("surface", "type").join(names, on=keys), documents
    )
    return CorpusNames(names, mentions, sentences)


def _with_given_names_typed(names: pl.DataFrame) -> pl.DataFrame:
    """Return the names, a given name with the type of the one full name that explains it.

    The document has one person whose name begins with it, and has the full name first. What is known of
    places, products and companies speaks against it, and more documents in which the name is no person's and
    stands without such a full name.
    """
    full: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    alone: list[tuple[int, str, str, int]] = []
    rows = names.select("document_id", "name", "type", pl.col("since").fill_null(0)).iter_rows()
    for at, (document, name, kind, since) in enumerate(rows):
        given, _, family = name.partition(" ")
        if family and kind_of(kind) == "person":
            full[document, given].append((since, kind))
        elif not family and kind_of(kind) not in {"person", "time", "number"}:
            alone.append((at, document, name, since))
    explained: dict[str, dict[int, str]] = defaultdict(dict)
    others: Counter[str] = Counter()
    for at, document, name, since in alone:
        found = full.get((document, name), [])
        if len(found) == 1 and found[0][0] <= since and name.lower() not in _NEVER_GIVEN:
            explained[name][at] = found[0][1]
        else:
            others[name] += 1
    types = {at: kind for name, of in explained.items() if len(of) >= others[name] for at, kind in of.items()}
    typed = [types.get(at, kind) for at, kind in enumerate(names["type"])]
    return names.with_columns(pl.Series("type", typed, pl.String))


def _commonest_names(placed: pl.DataFrame, column: str) -> pl.DataFrame:
    return (
        placed.group_by("document_id", "name", column)
        .agg(pl.len().alias("times"), pl.min("seen"))
        .sort("document_id", "name", "times", "seen", descending=[False, False, True, False])
        .unique(["document_id", "name"], keep="first", maintain_order=True)
        .select("document_id", "name", column)
    )


def _mentions_in_sentences(
    placed: pl.DataFrame, documents: pl.DataFrame
) -> tuple[list[NameMention], dict[tuple[str, int], str]]:
    texts = dict(documents.select("document_id", "text").iter_rows())
    mentions: list[NameMention] = []
    sentences: dict[tuple[str, int], str] = {}
    rows = placed.sort("document_id", "place", "name").select("document_id", "place", "surface", "type")
    for document, found in groupby(rows.iter_rows(), key=itemgetter(0)):
        text = texts[document]
        spans = sentence_spans(text)
        starts = [span.start for span in spans]
        before = -1
        for at, (_, place, surface, kind) in enumerate(found, start=1):
            number = -at if place is None else max(bisect_right(starts, place) - 1, 0)
            mentions.append(NameMention(document, number, intern(surface), intern(kind)))
            if number == before >= 0:
                sentences[document, number] = text[spans[number].start : spans[number].end]
            before = number
    return mentions, sentences
