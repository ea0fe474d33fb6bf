"""Asks a model about pairs that the rules leave open: each name with sentences that contain it."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from graphrag_dagster.kernel.tasks.name_judging import NameInText, NameJudge, NamePair, Ruling
from graphrag_dagster.kernel.text.sentences import sentence_spans
from graphrag_dagster.systems.graphrag.resolution.namesakes import Name
from graphrag_dagster.systems.graphrag.resolution.resolving import Question
from graphrag_dagster.systems.graphrag.resolution.scopes import Place

#: Sentences of a name that are shown, and most characters of one.
_SENTENCES, _CHARACTERS = 2, 240


class AskedOfModel:
    """Puts open pairs to a model, and counts what it says: the ``judge`` of :func:`.resolving.resolve`.

    Two names that stand in one document only are asked about once, also where the rules leave them open in
    the document and then between documents.

    Args:
        judge: the model.
        documents: rows of ``corpus.documents``; only sentences of names that are asked about are kept.
    """

    def __init__(self, judge: NameJudge, documents: pl.DataFrame) -> None:
        self._judge = judge
        self._documents = documents
        self._counts: Counter[str] = Counter()
        self._ruled: dict[tuple[str | None, Name, Name], Ruling] = {}

    def __call__(self, questions: Sequence[Question]) -> list[Ruling]:
        """Return the rulings on questions, in their order."""
        asked = [one for one in questions if _where_asked(one) not in self._ruled]
        self._ruled |= zip(map(_where_asked, asked), self._ask(asked), strict=True)
        return [self._ruled[_where_asked(one)] for one in questions]

    def _ask(self, questions: Sequence[Question]) -> list[Ruling]:
        texts = self._texts({place for one in questions for place in (*one.one_stands, *one.other_stands)})
        pairs = [
            NamePair(
                one.document,
                _in_text(one.one, one.one_stands, texts),
                _in_text(one.other, one.other_stands, texts),
            )
            for one in questions
        ]
        rulings = self._judge.judge(pairs)
        for ruling in rulings:
            self._counts["problems" if ruling.problem else ruling.verdict] += 1
            self._counts["repaired"] += ruling.repaired
        return rulings

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs a model was asked about, and its verdicts; ``problems`` had no usable reply."""
        kinds = ("same", "different", "unsure", "problems")
        asked = sum(self._counts[kind] for kind in kinds)
        return {"asked": asked, **{kind: self._counts[kind] for kind in (*kinds, "repaired")}}

    def _texts(self, places: set[Place]) -> dict[Place, str]:
        wanted: dict[str, list[int]] = defaultdict(list)
        for document, number in places:
            wanted[document].append(number)
        concerned = self._documents.filter(pl.col("document_id").is_in(sorted(wanted)))
        found: dict[Place, str] = {}
        for document, text in concerned.select("document_id", "text").iter_rows():
            spans = sentence_spans(text)
            found |= {(document, at): text[spans[at].start : spans[at].end] for at in wanted[document]}
        return found


def _where_asked(question: Question) -> tuple[str | None, Name, Name]:
    """The names, and the document where both are of one."""
    documents = {document for document, _ in (*question.one_stands, *question.other_stands)}
    only = documents.pop() if len(documents) == 1 else None
    return question.document or only, question.one, question.other


def _in_text(name: Name, places: Sequence[Place], texts: Mapping[Place, str]) -> NameInText:
    """The name with the first sentences that have it as it is written, else with those that mean it."""
    sentences = list(dict.fromkeys(" ".join(texts[place].split()) for place in places))
    sentences.sort(key=lambda sentence: name[0].casefold() not in sentence.casefold())
    return NameInText(*name, tuple(_shortened(one, name[0]) for one in sentences[:_SENTENCES]))


def _shortened(sentence: str, name: str) -> str:
    if len(sentence) <= _CHARACTERS:
        return sentence
    at = max(sentence.casefold().find(name.casefold()), 0)
    start = max(min(at - _CHARACTERS // 2, len(sentence) - _CHARACTERS), 0)
    part = sentence[start : start + _CHARACTERS]
    return f"{'… ' if start else ''}{part}{' …' if start + _CHARACTERS < len(sentence) else ''}"
