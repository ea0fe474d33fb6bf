"""Decodes bytes to text: byte order marks, UTF-8, UTF-16/32, and legacy encodings guessed by chardet.

Statistics say little about the most common case, an English text with a foreign name or two.
"""

import codecs
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_dagster.kernel.documents.file_records import REPLACEMENT, RefusedError, clean

FALLBACK = "cp1252"
#: What a reader of several texts in one file counts where something was replaced.
UNDECODED = "undecodable characters"

_DETECTION_SAMPLE = 8_192
_BEFORE = 80
#: How likely cp1252 must be beside the likeliest where few words tell, and what share of all words few are.
_NEARLY, _FEW = 0.7, 0.25
#: The least likelihood of a guess, for at least as many characters of words that are not ASCII.
_NO_GUESS, _FEWEST = 0.04, 16
#: Characters that words have on average at most.
_LONGEST_WORDS = 30

#: What text files were written in; of encodings that differ in rare signs, the one that decodes more.
_CANDIDATES = (
    *("cp1252", "iso8859-15", "mac-roman", "cp850", "cp437"),
    *("cp1250", "iso8859-2", "cp852", "cp1254", "cp1257"),
    *("cp1251", "koi8-r", "koi8-u", "cp866", "iso8859-5", "mac-cyrillic"),
    *("cp1253", "iso8859-7", "cp1255", "iso8859-8", "cp1256", "iso8859-6", "cp874"),
    *("cp932", "euc-jp", "gb18030", "big5", "cp949"),
)
#: Latin letters, and the East Asian characters, which stand beside them without a space.
_LATIN_NEIGHBOURS = "\x00-\u024f\u1e00-\u1eff\u2e80-\uffff"
_TWO_SCRIPTS = re.compile(
    rf"[A-Za-z](?=[^\W\d_])[^{_LATIN_NEIGHBOURS}]|(?=[^\W\d_])[^{_LATIN_NEIGHBOURS}][A-Za-z]"
)
#: A sign between two letters, or a capital after a small letter: most likely letters of another encoding.
_NO_WORD = re.compile(
    r"\ufffd|[^\W\d_](?![’‘·´\u00ad–—…])[^\w\x00-\x7f][^\W\d_]|[^\W\d_][¹²³½¼¾]|[a-zß-ÿ][À-Þ]"
)


def detect(data: bytes) -> str | None:
    """Return the Python name of the likeliest encoding of bytes that are not UTF-8; None if none is known."""
    sample = _sample(data)
    words = sample.decode(FALLBACK, "replace").split()
    telling = [word for word in words if not word.isascii()]
    likeliest: list[str] = []
    # Half a character at the end, or a byte that does not belong there, hides the encoding of the rest.
    for part in (sample, sample[:-1], sample.partition(b"\n")[0]):
        guesses = _guesses(part, _CANDIDATES)
        best = next(
            (name for name in guesses if not _TWO_SCRIPTS.search(part.decode(name, "replace"))), FALLBACK
        )
        # A few words say little but that they may be Western.
        western = guesses.get(FALLBACK, 0.0) >= _NEARLY * guesses.get(best, 0.0)
        if western and len(telling) in range(1, max(2, int(_FEW * len(words)))) and not _has_no_word(telling):
            return FALLBACK
        if guesses.get(best, 0.0) >= _NO_GUESS:
            return best
        likeliest.append(best)
    if sum(map(len, telling)) < _FEWEST:
        return FALLBACK
    words = [word for word in sample.decode(likeliest[0], "replace").split() if not word.isascii()]
    noise = _has_no_word(words) or sum(map(len, words)) > _LONGEST_WORDS * len(words)
    return None if noise else likeliest[0]


def _has_no_word(words: Sequence[str]) -> bool:
    return any(map(_NO_WORD.search, words))


def _guesses(sample: bytes, encodings: Sequence[str] | None = None) -> dict[str, float]:
    import chardet

    found = chardet.detect_all(sample, ignore_threshold=True, compat_names=False, include_encodings=encodings)
    return {one["encoding"]: one["confidence"] for one in found if one["encoding"]}


def _sample(data: bytes) -> bytes:
    sample = b""
    for line in io.BytesIO(data):
        line = line.removesuffix(b"\n")
        if line.isascii():
            continue
        first = next(place for place, byte in enumerate(line) if byte > 0x7F)
        sample += line[max(0, first - _BEFORE) : first + _DETECTION_SAMPLE] + b"\n"
        if len(sample) >= _DETECTION_SAMPLE:
            break
    # Cut at a line end where there is one, so as not to halve a character of several bytes.
    return sample[: sample.rfind(b"\n", 0, _DETECTION_SAMPLE) + 1 or _DETECTION_SAMPLE]


# UTF-32 first: the mark of UTF-16 (little endian) is the beginning of its own.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
#: No text begins like these.
_SIGNATURES = {
    b"PK\x03\x04": "a ZIP archive or an Office document",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\x1f\x8b": "a gzip archive",
    b"\xd0\xcf\x11\xe0": "an old Office document",
    b"\x7fELF": "a program",
}
#: Texts may begin like these, so they only name what other bytes show to be no text.
_PRINTABLE_SIGNATURES = {
    b"%PDF-": "a PDF file",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"II*": "a TIFF image",
    b"MM": "a TIFF image",
    b"BM": "a bitmap",
    b"RIFF": "a WebP, WAV or AVI file",
    b"ID3": "an MP3 file",
    b"OggS": "an Ogg file",
    b"MZ": "a program",
    b"PAR1": "a Parquet file",
    b"SQLite format 3": "an SQLite database",
    b"BZh": "a bzip2 archive",
    b"7z": "a 7z archive",
    b"Rar!": "a RAR archive",
}
#: What every PDF has, even one that is all printable.
_PDF = re.compile(rb"%PDF-\d\.\d[^\n\r]*[\r\n].*?\b\d+ \d+ obj\b", re.DOTALL)
_SAMPLE = 65_536
#: Backspaces, separators and the end mark of DOS stand in texts, too.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\r\f\v\x1b\x00\x01\x08\x1a\x1c\x1d\x1e\x1f")) + b"\x7f"
#: Share of control characters above which bytes are taken to be no text at all.
_BINARY_SHARE = 0.02
_CHARACTER_SETS = (
    "big5", "cp", "euc", "gb", "hz", "iso", "johab", "koi8", "mac", "shift", "tis", "utf-7", "utf-8",
)  # fmt: skip
#: A character struck over by the next one, as printers of old made bold and underlined letters.
_STRUCK_OVER = re.compile("[^\n\b]\b")
#: Encodings that shift between scripts, all in ASCII.
_SHIFTS = re.compile(rb"\x1b[$(]|~\{|\+[A-Za-z0-9+/]{2,}")
_SHIFTING = ("utf-7", "hz", "iso2022")


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with ``\\n`` line ends and no byte order mark; ``notes`` say what could not be decoded, and
    ``replaced`` how many places that are.
    """

    text: str
    encoding: str
    notes: tuple[str, ...] = ()
    replaced: int = 0


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode the bytes of a text file. ``declared`` is an encoding the file itself names, used if it fits.

    Raises:
        RefusedError: the bytes are not text.
    """
    for mark, name, without_mark in _MARKS:
        if data.startswith(mark):
            return _decode_leniently(data[len(mark) :], without_mark, name)
    for signature, kind in _SIGNATURES.items():
        if data.startswith(signature):
            raise _no_text(kind)
    if _PDF.match(data[:_SAMPLE]):
        raise _no_text("a PDF file")
    wide = _wide_encoding(data)
    if wide:
        return _decode_leniently(data, wide, wide)
    if shifting := _shifting_encoding(data):
        return _with_note(data.decode(shifting), shifting, 0)
    _refuse_binary(data)
    try:
        return _with_note(data.decode("utf-8"), "utf-8", 0)
    except UnicodeDecodeError:
        return _not_utf8(data, declared)


def _not_utf8(data: bytes, declared: str | None) -> Decoded:
    lenient = data.decode("utf-8", "replace")
    broken = lenient.count(REPLACEMENT)
    valid = len(lenient) - len(lenient.encode("ascii", "ignore")) - broken
    if valid >= broken:
        return _with_note(lenient, "utf-8", broken)
    if declared and _fits_encoding(data, declared):
        return _decode_leniently(data, declared, codecs.lookup(declared).name)
    encoding = detect(data)
    if encoding is None and broken <= _BINARY_SHARE * len(lenient):
        return _with_note(lenient, "utf-8", broken)
    if encoding is None:
        raise RefusedError(
            "not text in a known encoding; save it as UTF-8, or give it the extension it should have"
        )
    return _decode_leniently(data, encoding, encoding)


def _fits_encoding(data: bytes, encoding: str) -> bool:
    try:
        # Python calls programs such as punycode encodings, too.
        if not codecs.lookup(encoding).name.startswith(_CHARACTER_SETS):
            return False
        data.decode(encoding)
    except (LookupError, ValueError):
        return False
    return True


def _decode_leniently(data: bytes, encoding: str, shown: str) -> Decoded:
    try:
        return _with_note(data.decode(encoding), shown, 0)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        return _with_note(text, shown, text.count(REPLACEMENT))


def _with_note(text: str, encoding: str, broken: int) -> Decoded:
    notes = []
    if broken:
        notes.append(f"{broken} places are not valid {encoding} and were replaced by {REPLACEMENT}")
    nuls = text.count("\x00")
    if nuls:
        notes.append(f"{nuls} NUL characters were replaced by {REPLACEMENT}")
    if "\b" in text:
        text = _STRUCK_OVER.sub("", text)
    return Decoded(clean(text), encoding, tuple(notes), broken + nuls)


def _wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, told by where the NUL bytes of its ASCII characters stand."""
    sample = data[:_SAMPLE]
    if b"\x00" not in sample or len(data) % 2:
        return None
    shares = [_nul_share(sample[offset::4]) for offset in range(4)]
    if len(data) % 4 == 0 and min(shares[2:]) > 0.99 and shares[0] < 0.1:
        return _if_valid(sample, "utf-32-le")
    if len(data) % 4 == 0 and min(shares[:2]) > 0.99 and shares[3] < 0.1:
        return _if_valid(sample, "utf-32-be")
    even, odd = _nul_share(sample[0::2]), _nul_share(sample[1::2])
    if min(even, odd) > 0.02:
        return None
    return _if_valid(sample, "utf-16-le" if odd > even else "utf-16-be")


def _shifting_encoding(data: bytes) -> str | None:
    """An encoding of several scripts in ASCII, where all of a text is valid in it."""
    if not data.isascii() or not _SHIFTS.search(data):
        return None
    encoding = next(iter(_guesses(data[:_SAMPLE])), "")
    return encoding if encoding.startswith(_SHIFTING) and _fits_encoding(data, encoding) else None


def _nul_share(data: bytes) -> float:
    return data.count(0) / len(data) if data else 0.0


def _if_valid(sample: bytes, encoding: str) -> str | None:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return None
    good = sum(char.isprintable() or char.isspace() for char in text)
    return encoding if good >= (1 - _BINARY_SHARE) * len(text) else None


def _refuse_binary(data: bytes) -> None:
    sample = data[:_SAMPLE]
    nuls = data.count(0)
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    many_nuls = nuls > max(1, len(data) // 1000)
    if not many_nuls and controls <= _BINARY_SHARE * len(sample):
        return
    for signature, kind in _PRINTABLE_SIGNATURES.items():
        if data.startswith(signature):
            raise _no_text(kind)
    if many_nuls:
        raise RefusedError(f"not text: {nuls:,} of its {len(data):,} bytes are NUL")
    share = 100 * controls / len(sample)
    raise RefusedError(f"not text: {share:.0f} % of its bytes are control characters")


def _no_text(kind: str) -> RefusedError:
    return RefusedError(f"not text: it begins like {kind}; give it the extension it should have")
