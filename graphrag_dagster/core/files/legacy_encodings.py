"""Which legacy encoding some bytes are in: the one under which they spell a language.

Statistical detection is unreliable on short Western texts, so each candidate is decoded and judged by how
many of its non-ASCII characters belong to the alphabet of one language and stand where letters may stand.
Only where no alphabet fits, chiefly Chinese, charset-normalizer decides.
"""

import codecs
import io
import re
import unicodedata

FALLBACK = "cp1252"

_SAMPLE = 8_192
_BEFORE = 80
_ENOUGH = 0.9
_LAST_LATIN = "\u024f"

#: Non-ASCII lower-case letters of languages by the encodings they were written in, likeliest first.
_WESTERN = (
    "éèàêçâîôûùëïœæüÿ",
    "äöüßéà",
    "áéíóúñüºª",
    "áâãàçéêíóôõúüºª",
    "àèéìíòóùúîºª",
    "åäöéüæøàóôò",
    "áéíóúýþæöð",
    "àèéíïòóúüç·",
    "éëïóöüáèê",
    "áéíóúàèìòùâêîôûŵŷ",
)
_CENTRAL = ("ąćęłńóśźż", "áčďéěíňóřšťúůýžľĺŕôä", "áéíóöőúüű", "ăâîşţșțáé", "čćđšž")
_KANA = re.compile(r"[\u3040-\u30ff]")
_MARKS = frozenset("‘’“”„‚«»‹›–—…•·§©®™°€£¥¢¡¿½¼¾²³×÷±µ†‡¶´¨\u00a0\u00ad№")
_INSIDE_WORDS = frozenset("’‘·´\u00ad")


def _letters(first: str, last: str) -> str:
    return "".join(map(chr, range(ord(first), ord(last) + 1)))


_ALPHABETS: dict[str, tuple[str, ...]] = {
    "cp1252": _WESTERN,
    "iso8859_15": _WESTERN,
    "cp1250": _CENTRAL,
    "iso8859_2": _CENTRAL,
    "cp1254": ("çğıöşüâîûİ",),
    "cp1257": ("ąčęėįšųūž", "āčēģīķļņšūž", "äöõüšž"),
    # Before Cyrillic: Hebrew reads as small Cyrillic letters throughout, and a tie goes to the first.
    "cp1255": (_letters("א", "ת"),),
    "cp1251": (_letters("а", "я") + "ёіїєґўћђјљњџ",),
    "koi8_r": (_letters("а", "я") + "ё",),
    "koi8_u": (_letters("а", "я") + "іїєґ",),
    "cp866": (_letters("а", "я") + "ё",),
    "iso8859_5": (_letters("а", "я") + "ёіїєўћђјљњџ",),
    "cp1253": (_letters("ά", "ώ") + "ΐΰ",),
    "cp1256": (_letters("\u0621", "\u0652") + "پچژگکیی،؛؟",),
    "mac_roman": _WESTERN,
    "cp850": _WESTERN,
    "cp852": _CENTRAL,
}


def detect(data: bytes) -> str:
    """Return the Python name of the likeliest encoding of bytes that are not UTF-8; never fails."""
    sample = _sample(data)
    asian = _east_asian(sample)
    if asian:
        return asian
    scores = {encoding: _score(sample, encoding) for encoding in _ALPHABETS}
    best = max(scores, key=lambda encoding: scores[encoding])
    if scores[best] >= _ENOUGH:
        return best
    return _statistical(sample, default=best if scores[best] > 0.6 else FALLBACK)


def _sample(data: bytes) -> bytes:
    sample = b""
    for line in io.BytesIO(data):
        line = line.removesuffix(b"\n")
        if line.isascii():
            continue
        first = next(place for place, byte in enumerate(line) if byte > 0x7F)
        sample += line[max(0, first - _BEFORE) : first + _SAMPLE] + b"\n"
        if len(sample) >= _SAMPLE:
            break
    # Cut at a line end where there is one, so as not to halve a character of several bytes.
    return sample[: sample.rfind(b"\n", 0, _SAMPLE) + 1 or _SAMPLE]


def _decoded(sample: bytes, encoding: str) -> str | None:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return None


def _east_asian(sample: bytes) -> str | None:
    """Japanese needs kana among its ideographs, Korean is almost all Hangul; Chinese has neither."""
    for encoding in ("euc_jp", "cp932"):
        text = _decoded(sample, encoding) or ""
        wide = [char for char in text if ord(char) > 0x7F]
        kana = len(_KANA.findall(text))
        fitting = sum("\u3000" <= char <= "\u9fff" or "\uff00" <= char <= "\uff60" for char in wide)
        if wide and kana >= 0.15 * len(wide) and fitting >= _ENOUGH * len(wide):
            return encoding
    text = _decoded(sample, "cp949") or ""
    wide = [char for char in text if ord(char) > 0x7F and char not in _MARKS]
    hangul = sum("\uac00" <= char <= "\ud7a3" for char in wide)
    return "cp949" if len(wide) > 1 and hangul >= _ENOUGH * len(wide) else None


def _score(sample: bytes, encoding: str) -> float:
    """Share of the non-ASCII characters that fit the best of the encoding's alphabets, 0 to 1."""
    text = _decoded(sample, encoding)
    if text is None:
        return 0.0
    places = [place for place, char in enumerate(text) if char > "\x7f"]
    if not places:
        return 0.0
    marks = sum(_mark_fits(text, place) for place in places if text[place] in _MARKS)
    letters = [text[place] for place in places if _letter_fits(text, place)]
    known = max(
        sum(letter in alphabet or letter.lower() in alphabet for letter in letters)
        for alphabet in _ALPHABETS[encoding]
    )
    return (marks + known) / len(places)


def _neighbours(text: str, place: int) -> tuple[str, str]:
    return text[place - 1 : place] or " ", text[place + 1 : place + 2] or " "


def _mark_fits(text: str, place: int) -> bool:
    """A sign between two letters is most likely a letter of another encoding."""
    before, after = _neighbours(text, place)
    if text[place] in _INSIDE_WORDS or text[place] in "–—…":
        return True
    return not (before.isalpha() and after.isalpha())


def _letter_fits(text: str, place: int) -> bool:
    """A capital after a small letter, or two scripts in one word, tell of another encoding."""
    char = text[place]
    if char in _MARKS or not unicodedata.category(char).startswith(("L", "M")):
        return False
    before, after = _neighbours(text, place)
    if char > _LAST_LATIN and any(other.isascii() and other.isalpha() for other in (before, after)):
        return False
    return not (char.isupper() and before.islower())


def _statistical(sample: bytes, default: str) -> str:
    from charset_normalizer import from_bytes

    candidates = ["gb18030", "big5", "cp949", "cp932", "euc_jp", *_ALPHABETS]
    best = from_bytes(sample, cp_isolation=candidates).best()
    wide_share = sum(byte > 0x7F for byte in sample) / max(1, len(sample))
    # Below this share of non-ASCII bytes its guesses among Western encodings are no better than chance.
    if best is None or wide_share < 0.4:
        return default
    return str(best.encoding)
