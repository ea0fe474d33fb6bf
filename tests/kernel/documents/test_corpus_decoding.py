import codecs
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.documents.file_records import RefusedError
from graphrag_dagster.kernel.documents.text_decoding import decode

WESTERN = "He said “no” — that’s it… The naïve café cost £5."


@pytest.mark.parametrize(
    ("mark", "encoding", "shown"),
    [
        (b"", "utf-8", "utf-8"),
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
        (b"", "utf-16-le", "utf-16-le"),
        (b"", "utf-16-be", "utf-16-be"),
        (b"", "utf-32-le", "utf-32-le"),
        (b"", "utf-32-be", "utf-32-be"),
        (b"", "cp1252", "cp1252"),
    ],
)
def test_unicode_and_fallback(mark: bytes, encoding: str, shown: str) -> None:
    decoded = decode(mark + WESTERN.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.notes) == (WESTERN, shown, ())


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Le café de l’hôtel était fermé."),
        ("cp1252", "The quay at Møre was closed in 2019 after a long storm."),
        ("cp1252", "It cost £500 and 3½ days; 20°C. § 5 applies © 2019."),
        ("cp1252", "Die Größe der Straße überrascht. Öffentliche Gebäude."),
        ("cp1252", "¿Dónde está la niña? El año pasado comió piñas."),
        ("cp1250", "Zażółć gęślą jaźń. Łódź jest pięknym miastem."),
        ("iso8859_2", "Zażółć gęślą jaźń. Łódź jest pięknym miastem."),
        ("cp1250", "Příliš žluťoučký kůň úpěl ďábelské ódy."),
        ("cp1250", "Árvíztűrő tükörfúrógép, és sok lakosa van."),
        ("cp1254", "İstanbul'un güzel şehri, boğazın kıyısında yer alır."),
        ("cp1257", "Miestas yra prie jūros, žmonės čia gyvena gražiai ir šviečia saulė."),
        ("cp1251", "Привет, мир. Город стоит на берегу реки."),
        ("koi8_r", "Привет, мир. Город стоит на берегу реки."),
        ("cp866", "Привет, мир. Город стоит на берегу реки."),
        ("cp1253", "Η πόλη βρίσκεται στην ακτή της θάλασσας."),
        ("cp1255", "העיר נמצאת על חוף הים והיא יפה מאוד."),
        ("cp1256", "المدينة تقع على ساحل البحر وهي جميلة جدا"),
        ("cp932", "港の町は海の近くにあります。"),
        ("euc_jp", "港の町は海の近くにあります。"),
        ("iso2022_jp", "港の町は海の近くにあります。"),
        ("gb18030", "港口城市位于海边，非常美丽。人们喜欢在这里散步。"),
        ("big5", "港口城市位於海邊，非常美麗。人們喜歡在這裡散步。"),
        ("cp949", "항구 도시는 바다 근처에 있습니다."),
        ("cp932", "ファイルをHTMLとして読み、PDFの一覧を作ります。"),
        ("cp949", "HTML을 읽고 PDF의 목록을 만들 수 없습니다."),
        ("mac_roman", "Le café de l’hôtel était fermé. “Oui” — c’est ça."),
        ("cp850", "Le café de l'hôtel était fermé à midi."),
        ("cp437", "Für die Brücke fehlten noch achtzig Träger."),
        ("koi8_u", "Її сусід живе в Києві вже кілька років."),
        ("mac_cyrillic", "Никто не знал, куда делись ключи от старого склада."),
        ("iso8859_6", "قرر المجلس إصلاح الجسر قبل حلول الشتاء."),
        ("cp874", "ไม่มีใครรู้ว่ากุญแจโกดังเก่าอยู่ที่ไหน"),
    ],
)
def test_legacy_encodings(encoding: str, text: str) -> None:
    assert decode(text.encode(encoding)).text == text
    long = f"{text}\n" * 300
    assert decode(long.encode(encoding)).text == long


@pytest.mark.parametrize("word", ["Muñoz", "Hélène", "Öland", "Perú", "Þór", "naïve", "jalapeño", "Ærø"])
def test_one_foreign_word_in_english_is_read_as_cp1252(word: str) -> None:
    text = f"Mr Abel saw {word} in 1954."
    assert decode(text.encode("cp1252")).text == text


def test_signs_are_read_as_cp1252() -> None:
    text = "It’s “late” – and the pilot’s fee was £5…"
    assert decode(text.encode("cp1252")).text == text


def test_words_of_two_scripts_tell_of_another_encoding() -> None:
    text = "La città è più grande di quanto si creda."
    assert decode(text.encode("cp1252")).text == text


def test_what_stands_far_behind_english_is_heard() -> None:
    text = "The minutes were kept by hand.\n" * 5000 + "Никто не знал, куда делись ключи.\n"
    assert decode(text.encode("koi8_r")).text == text


def test_line_ends_and_nul() -> None:
    decoded = decode(b"a\r\nb\rc\nd" + b"x" * 2000 + b"\x00")
    assert decoded.text == "a\nb\nc\nd" + "x" * 2000 + "\ufffd"
    assert "NUL" in decoded.notes[0]


def test_damaged_utf8_stays_utf8() -> None:
    decoded = decode("Größe über alles, schöne Grüße".encode() + b"\xff und \xe2\x82")
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith("Größe über alles, schöne Grüße")
    assert "replaced" in decoded.notes[0]


@pytest.mark.parametrize(
    ("data", "text", "replaced"),
    [
        (
            "Café Größe at the quay.\n".encode() + b"\xff and \xfe, caf\xe9 closed",
            "Café Größe at the quay.\n\ufffd and \ufffd, caf\ufffd closed",
            3,
        ),
        (f"{'All was quiet. ' * 50}Dvořák, Brontë slept.".encode() + b" Then \x81\x8d\x8f.", None, 3),
        ("İlker ışık".encode()[:-1] + "ş".encode()[:1] + " ığdır".encode(), "İlker ışı\ufffd ığdır", 1),
        (("港口城市位于海边，非常美丽。" * 5).encode("gb18030")[:-1], None, 1),
        (("港の町は海の近くにあります。\n" * 9).encode("euc_jp") + b"\xff\n", None, 1),
    ],
)
def test_a_few_bad_bytes_spoil_nothing_else_and_are_counted(
    data: bytes, text: str | None, replaced: int
) -> None:
    decoded = decode(data)
    assert decoded.text == (text or decoded.text)
    assert decoded.text.count("\ufffd") == decoded.replaced == replaced
    assert f"{replaced} places are not valid {decoded.encoding}" in decoded.notes[0]
    assert sum(map(str.isalpha, decoded.text)) >= sum(
        map(str.isalpha, data.decode(decoded.encoding, "ignore"))
    )


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("utf_7", "Die Größe der Straße – “so”."),
        ("hz", "港口城市位于海边"),
        ("iso2022_kr", "항구 도시는 바다"),
    ],
)
def test_encodings_that_shift_between_scripts(encoding: str, text: str) -> None:
    assert decode(f"{text}\n".encode(encoding) * 3).text == f"{text}\n" * 3


@pytest.mark.parametrize(
    "text", ["C++ and a+abc-d, x+total-y", "~{foo~} ~~{", "/?a=+Aab-&b=+AGEAYg-", "\x1b[1mbold\x1b[0m"]
)
def test_ascii_with_signs_of_other_encodings_stays(text: str) -> None:
    assert decode(text.encode()).text == text


def test_a_declared_encoding_is_used_where_it_fits() -> None:
    assert decode("ĄĆ zwykły".encode("iso8859_2"), "iso-8859-2").text == "ĄĆ zwykły"
    assert decode("Größe".encode(), "iso-8859-1").text == "Größe"
    assert decode("é".encode("cp1252"), "no-such-encoding").text == "é"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer\n", "a PDF file"),
        (b"GIF89a\x01\x00\x01\x00\x80\x00\x00", "a GIF image"),
        (b"BM\x46\x00\x00\x00\x00\x00", "a bitmap"),
        (b"MZ\x90\x00\x03\x00\x00\x00", "a program"),
        (b"II*\x00\x08\x00\x00\x00", "a TIFF image"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01", "a JPEG image"),
        (b"PK\x03\x04....", "ZIP archive"),
        (b"\x01\x02\x00\x00\x00\xfe" * 50, "NUL"),
        (bytes(range(1, 32)) * 20, "control characters"),
        (bytes(random.Random(2).randrange(128, 256) for _ in range(500)), "known encoding"),
        (bytes(random.Random(3).choice(range(160, 256)) for _ in range(3000)), "known encoding"),
    ],
)
def test_binaries_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(RefusedError, match=reason):
        decode(data)


@pytest.mark.parametrize(
    "beginning",
    ["GIF89a", "%PDF-1.7", "PK", "BM", "II*", "MZ", "#!/bin/sh", "PAR1", "RIFF", "ID3", "ÿØÿ", "‰PNG"],
)
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_text_may_begin_like_a_binary_file(beginning: str, encoding: str) -> None:
    text = f"{beginning} is how some files begin. Tomas Weill described it in a café.\n"
    assert decode(text.encode(encoding)).text == text


def test_letters_struck_over_are_read_once() -> None:
    assert decode(b"N\bNA\bAM\bME\bE\n  _\bl_\bs lists\n" * 3).text == "NAME\n  ls lists\n" * 3


def test_random_bytes_are_refused() -> None:
    with pytest.raises(RefusedError):
        decode(random.Random(1).randbytes(5000))


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])), st.sampled_from(["utf-8", "utf-16"]))
def test_unicode_comes_back_unchanged(text: str, encoding: str) -> None:
    text = text.lstrip("\ufeff")
    assert decode(text.encode(encoding)).text == text


@given(st.binary())
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    try:
        text = decode(data).text
    except RefusedError:
        return
    assert "\r" not in text
    assert "\x00" not in text
    text.encode()
