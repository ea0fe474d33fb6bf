"""Entity resolution of a corpus as tables."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import polars as pl

from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.language.name_judging import Ruling
from graphrag_dagster.core.resolution.corpus_names import corpus_names
from graphrag_dagster.core.resolution.pairs.candidates import forget_names
from graphrag_dagster.core.resolution.pairs.comparing import Comparing, Earlier, pair_columns
from graphrag_dagster.core.resolution.people import Decisions, Word
from graphrag_dagster.core.resolution.resolving import Judge, Resolution, resolve
from graphrag_dagster.core.text.names import normalise
from graphrag_dagster.tables import ALIASES, CANDIDATES, DECISIONS

_OF_DOCUMENT = ["document_id", "name"]


@dataclass(frozen=True, slots=True)
class ResolutionFrames:
    """The tables of resolution, and what else is told of it.

    Attributes:
        candidates: rows of ``resolution.candidates``.
        decisions: rows of ``resolution.decisions``.
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


def unresolved(
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
    return ResolutionFrames(CANDIDATES.empty(), DECISIONS.empty(), _ordered(aliases))


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
    meant = [(word, _in_documents(word, documents)) for word in people.words]
    said = Decisions([one for _, ones in meant for one in ones])
    comparing = Comparing(earlier, found.names)

    done = resolve(
        found.mentions,
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
        DECISIONS.rows(chain(_decisions(done), _unused(unused, documents))),
        _aliases(found.names, done),
        sum(scope.left_out for scope in done.scopes),
        len(done.namesakes),
        comparing.reused,
    )


def _in_documents(word: Word, documents: pl.DataFrame) -> list[Word]:
    """Return what was said of a file as said of each document in it, by id."""
    if word.document is None:
        return [word]
    inside = documents.filter(pl.col("path") == word.document)["document_id"].sort().to_list()
    return [replace(word, document=one) for one in inside or [word.document]]


def _decisions(done: Resolution) -> Iterator[Mapping[str, Any]]:
    for one in done.decisions:
        yield {
            **pair_columns(one.document, one.one, one.other),
            "verdict": one.verdict,
            "decided_by": one.by,
            "reason": one.reason,
            "score": one.score,
            **_said(one.word),
            **_asked(one.ruling),
        }


def _unused(words: Iterable[Word], documents: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    known = {*documents["path"], *documents["document_id"]}
    for word in words:
        where = "the texts" if word.document is None else word.document
        missing = f"no two of these names are in {where}"
        if word.document is not None and word.document not in known:
            missing = f"there is no document {word.document}"
        reason = f"{word.verdict}: {', '.join(word.names)}; {missing}"
        yield {
            **pair_columns(None, (word.names[0], ""), (word.names[1], "")),
            "pair_id": stable_id("unused", word.verdict, *word.names, word.document, word.identity),
            "verdict": "unused",
            "decided_by": "person",
            "reason": reason,
            "score": None,
            **_said(word),
            **_asked(None),
        }


def _said(word: Word | None) -> dict[str, str | None]:
    if word is None:
        return dict.fromkeys(("decision_id", "who", "decided_at"))
    return {"decision_id": word.identity, "who": word.who, "decided_at": word.when}


def _asked(ruling: Ruling | None) -> dict[str, Any]:
    return {
        "problem": ruling.reason if ruling and ruling.problem else None,
        "repaired": int(ruling is not None and ruling.repaired),
    }


def _aliases(names: pl.DataFrame, done: Resolution) -> pl.DataFrame:
    spellings = list(names.select("document_id", "surface", "type").iter_rows())
    titles = [done.entities[spelling][0] for spelling in spellings]
    return _ordered(
        names.with_columns(
            pl.Series("full_name", [done.heads[spelling][0] for spelling in spellings], pl.String),
            pl.Series("entity", list(map(normalise, titles)), pl.String),
            pl.Series("title", titles, pl.String),
        )
    )


def _ordered(aliases: pl.DataFrame) -> pl.DataFrame:
    return aliases.select([column.name for column in ALIASES.columns]).sort(_OF_DOCUMENT)
