"""Which encoding text is in: our detection, chardet's and charset-normalizer's alone, on the same bytes.

`written`: the sentences of encodings.yaml in every encoding of their language, alone, together, and behind a
page of English. `spacy`: the same with the sentences that spaCy brings for its languages. `names`: English
with one foreign word, in cp1252. `messages`: what the programs of this system say in other languages; nothing
was chosen by it. Right is what decodes to the very text. `binary`: compiled files of this Python that are
taken for UTF-16 or UTF-32.

Run: python benchmarks/encodings.py
"""

import gettext
import random
import re
import sysconfig
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import chardet
import charset_normalizer
import yaml

from graphrag_dagster.kernel.documents.file_records import RefusedError
from graphrag_dagster.kernel.documents.text_decoding import decode, detect

WRITTEN = Path(__file__).parent / "encodings.yaml"
CATALOGUES = Path("/usr/share/locale")
#: A sentence, and nothing that programs fill in.
MESSAGE = re.compile(r"[^%{}<>\n|\\$]{30,150}[.!?。।]")
PAGE = "The minutes of the council were kept by hand and copied once a year.\n" * 20
WESTERN = ("cp1252", "iso8859_15", "mac_roman", "cp850")
CENTRAL = ("cp1250", "iso8859_2", "cp852")
LANGUAGES = {
    **dict.fromkeys(("fr", "de", "es", "pt", "it", "sv", "da", "nb", "nl", "fi"), WESTERN),
    **dict.fromkeys(("pl", "cs", "sk", "hu", "hr", "sl"), CENTRAL),
    "ro": ("cp1250", "iso8859_2"),
    "tr": ("cp1254", "iso8859_9"),
    "lt": ("cp1257",),
    "ru": ("cp1251", "koi8_r", "cp866", "iso8859_5"),
    "uk": ("cp1251", "koi8_u"),
    "bg": ("cp1251",),
    "sr": ("cp1251",),
    "el": ("cp1253", "iso8859_7"),
    "he": ("cp1255", "iso8859_8"),
    "ar": ("cp1256", "iso8859_6"),
    "fa": ("cp1256",),
    "ja": ("cp932", "euc_jp"),
    "zh": ("gbk", "big5"),
    "ko": ("cp949",),
}
FRAMES = (
    "The letter was signed by {} and nobody else.",
    "{} left the harbour in 1954.",
    "Mr {}, the pilot, said that it was late.",
    "See {}.",
)
Detector = Callable[[bytes], str | None]


class Text(NamedTuple):
    """A text, and how it was written."""

    kind: str
    encoding: str
    text: str


def normalizer(data: bytes) -> str | None:
    best = charset_normalizer.from_bytes(data).best()
    return best.encoding if best else None


DETECTORS: dict[str, Detector] = {
    "ours": detect,
    "chardet": lambda data: chardet.detect(data, compat_names=False)["encoding"],
    "charset-normalizer": normalizer,
}


def kinds(sentences: list[str], encoding: str) -> Iterator[Text]:
    sentences = [one for one in sentences if fits(one, encoding)]
    yield from (Text("a sentence", encoding, one) for one in sentences)
    yield Text("together", encoding, "\n".join(sentences))
    yield Text("behind English", encoding, PAGE + "\n".join(sentences))


def fits(text: str, encoding: str) -> bool:
    try:
        return bool(text.encode(encoding))
    except UnicodeEncodeError:
        return False


def sets() -> dict[str, list[Text]]:
    of_file = yaml.safe_load(WRITTEN.read_text(encoding="utf-8"))
    groups = of_file["languages"]
    written = [text for of in groups for name in of["encodings"] for text in kinds(of["sentences"], name)]
    spacy = [
        text
        for language, encodings in LANGUAGES.items()
        for name in encodings
        for text in kinds(import_module(f"spacy.lang.{language}.examples").sentences, name)
    ]
    names = [
        Text("a sentence", "cp1252", frame.format(word))
        for word in of_file["foreign words"]
        for frame in FRAMES
    ]
    messages = [
        text
        for language, encodings in LANGUAGES.items()
        for name in encodings
        for text in kinds(translated(language), name)
    ]
    found = {"written": written, "spacy": spacy, "names": names, "messages": messages}
    return {name: [text for text in of if not text.text.isascii()] for name, of in found.items()}


def translated(language: str) -> list[str]:
    """Ten messages, always the same ones of the same system."""
    found: set[str] = set()
    for folder in (CATALOGUES / language, *sorted(CATALOGUES.glob(f"{language}_*"))):
        for file in sorted(folder.glob("LC_MESSAGES/*.mo"))[:20]:
            with file.open("rb") as opened, suppress(UnicodeDecodeError):
                told = gettext.GNUTranslations(opened)._catalog.values()  # noqa: SLF001 - gettext lists no messages.
                found.update(one for one in told if isinstance(one, str) and MESSAGE.fullmatch(one))
    return random.Random(1).sample(sorted(found), min(10, len(found)))


def right(detector: Detector, text: Text) -> bool:
    data = text.text.encode(text.encoding)
    try:
        return data.decode(detector(data) or "ascii") == text.text
    except (LookupError, UnicodeDecodeError):
        return False


def measure(name: str, texts: list[Text]) -> None:
    of_kind = Counter(text.kind for text in texts)
    for who, detector in DETECTORS.items():
        hits, begin = Counter(), time.process_time()
        wrong = Counter()
        for text in texts:
            found = right(detector, text)
            hits[text.kind] += found
            wrong[text.encoding] += not found
        seconds = time.process_time() - begin
        told = ", ".join(f"{kind} {hits[kind]}/{many}" for kind, many in of_kind.items())
        missed = ", ".join(f"{encoding} {many}" for encoding, many in (+wrong).most_common(4))
        print(
            f"{name}, {who}: {hits.total()}/{len(texts)} ({told}; most missed: {missed or 'none'}), "
            f"{1000 * seconds / len(texts):.2f} ms a text"
        )


def ours_wide(data: bytes) -> bool:
    try:
        return decode(data).encoding.startswith(("utf-16", "utf-32"))
    except RefusedError:
        return False


def binaries() -> None:
    files = sorted(Path(sysconfig.get_path("stdlib")).rglob("*.pyc"))[:1000]
    files += sorted(Path(sysconfig.get_path("platlib")).rglob("*.so"))[:300]
    starts = [file.read_bytes()[:65_536] for file in files]
    wide = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
    theirs = [
        chardet.detect(data, compat_names=False, include_encodings=wide)["encoding"] in wide
        for data in starts
    ]
    print(f"binary: ours {sum(map(ours_wide, starts))}, chardet {sum(theirs)} of {len(files)} files")


def main() -> None:
    for name, texts in sets().items():
        measure(name, texts)
    binaries()


if __name__ == "__main__":
    main()
