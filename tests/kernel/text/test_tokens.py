import os
import subprocess
import sys
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.text.tokenization import ENCODINGS, get_tokenizer, window_count
from support.vocabularies import write_vocabularies

MIXED = st.text(alphabet=st.one_of(st.characters(), st.sampled_from("a b.\n港😀é👨‍👩‍👧")), max_size=60)


def test_known_counts() -> None:
    assert get_tokenizer("cl100k_base").count("tiktoken is great!") == 6
    assert get_tokenizer("o200k_base").name == "o200k_base"
    assert get_tokenizer("cl100k_base") is get_tokenizer("cl100k_base")


def test_special_marks_are_ordinary_text() -> None:
    tokenizer = get_tokenizer("cl100k_base")
    assert tokenizer.count("<|endoftext|>") > 1
    assert tokenizer.counts(["<|endoftext|>", ""]) == [tokenizer.count("<|endoftext|>"), 0]


def test_unknown_encoding() -> None:
    with pytest.raises(
        SettingsError, match=r"text_units\.encoding is 'p50k'; allowed: cl100k_base, o200k_base"
    ):
        get_tokenizer("p50k")


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(number=st.integers(0, 9999), text=MIXED)
def test_a_number_at_the_beginning_of_a_line_is_counted_by_itself(encoding, number, text) -> None:
    count = get_tokenizer(encoding).count
    assert count(f"\n{number}|{text}") == count(f"\n0000|{text}") - count("0000") + count(str(number))


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(
    st.lists(
        st.tuples(st.sampled_from(["-----Reports-----\n", "1,", "-", "2048,", '7,"']), MIXED), max_size=6
    )
)
def test_lines_that_begin_with_a_digit_or_a_dash_add_up(encoding: str, lines: list[tuple[str, str]]) -> None:
    tokenizer = get_tokenizer(encoding)
    written = [f"{begin}{text}\n" for begin, text in lines]
    assert tokenizer.lines_add_up
    assert tokenizer.count("".join(written)) == sum(tokenizer.counts(written))


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(
    st.lists(st.tuples(st.sampled_from(["1,", "-", '7,"']), MIXED | st.just("\ud800 a \ud83d")), max_size=6)
)
def test_lines_are_counted_together_as_each_for_itself(encoding: str, lines: list[tuple[str, str]]) -> None:
    tokenizer = get_tokenizer(encoding)
    written = [f"{begin}{text}\n" for begin, text in lines]
    assert tokenizer.counts_of_lines(written) == [tokenizer.count(line) for line in written]


def test_any_number_of_lines_is_counted() -> None:
    tokenizer = get_tokenizer("cl100k_base")
    lines = [f"{number}, of {'many ' * (number % 1000)}\n" for number in range(900, 1100)]
    assert sum(map(len, lines)) > 400_000
    assert tokenizer.counts_of_lines(lines) == [tokenizer.count(line) for line in lines]


@given(MIXED, st.integers(0, 30))
def test_truncation_keeps_whole_characters(text: str, tokens: int) -> None:
    tokenizer = get_tokenizer("cl100k_base")
    kept = tokenizer.truncate(text, tokens)
    assert text.startswith(kept)
    assert tokenizer.count(kept) <= tokens
    assert (kept == text) == (tokenizer.count(text) <= tokens)


def test_the_longest_beginning_is_kept() -> None:
    tokenizer = get_tokenizer("cl100k_base")
    assert [tokenizer.truncate(" a" * 9, most) for most in (-1, 0, 1, 8, 9, 10)] == [
        "", "", " a", " a" * 8, " a" * 9, " a" * 9,
    ]  # fmt: skip


def test_frequent_words_are_less_rare_than_names_and_each_further_piece_counts_one() -> None:
    rarity = get_tokenizer("cl100k_base").rarity
    assert 0.1 <= rarity("the") < rarity("water") < rarity("harbour") < rarity("Brinefield")
    assert rarity("Brinefieldston") == pytest.approx(rarity("Brinefield") + 1)
    assert 4 < rarity("water") < 5
    assert rarity("Brinefield") > 9


@given(MIXED, st.integers(1, 12), st.data())
def test_windows_cover_every_character(text: str, size: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    tokenizer = get_tokenizer("cl100k_base")
    windows = tokenizer.windows(text, size, overlap)
    count = tokenizer.count(text)
    assert len(windows) == window_count(count, size, overlap)
    assert {place for start, end, _ in windows for place in range(start, end)} == set(range(len(text)))
    assert all(start < end and 0 < tokens <= size for start, end, tokens in windows)
    assert windows == sorted(windows, key=lambda window: window[:2])


@pytest.mark.parametrize(
    ("tokens", "size", "overlap", "windows"),
    [
        (0, 600, 100, 0),
        (600, 600, 100, 1),
        (601, 600, 100, 2),
        (1100, 600, 100, 2),
        (1101, 600, 100, 3),
        (5, 1, 0, 5),
    ],
)
def test_count_rule(tokens: int, size: int, overlap: int, windows: int) -> None:
    assert window_count(tokens, size, overlap) == windows
    text = " a" * tokens
    found = get_tokenizer("cl100k_base").windows(text, size, overlap)
    assert len(found) == windows
    assert [window[0] for window in found] == [2 * number * (size - overlap) for number in range(windows)]


def test_windows_of_whole_tokens_are_exact() -> None:
    tokenizer = get_tokenizer("cl100k_base")
    text = "The harbour master signed the plan on Monday. " * 20
    for start, end, tokens in tokenizer.windows(text, 16, 4):
        assert tokenizer.count(text[start:end]) == tokens


def test_lone_surrogates_do_not_shift_offsets() -> None:
    windows = get_tokenizer("cl100k_base").windows("a\ud83d\ude00b\ud800", 1, 0)
    assert windows[-1][1] == 5


def test_bad_sizes() -> None:
    with pytest.raises(SettingsError, match="overlap"):
        get_tokenizer("cl100k_base").windows("a", 5, 5)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_packaged_encodings_are_those_of_tiktoken(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, folder in write_vocabularies(tmp_path).items():
        monkeypatch.setenv(variable, folder)
    theirs = tiktoken.Encoding(**ENCODING_CONSTRUCTORS[encoding]())
    text = "Ca\u0301fé isn't 12,345 ½\r\n\n  <|endoftext|> 東京 НЕТ\t!!/ \u200b𝒳" * 3
    ours = get_tokenizer(encoding)
    starts = [start for start, _, _ in ours.windows(text, 1, 0)]
    assert ours.count(text) == len(theirs.encode_ordinary(text)) == len(starts)
    assert ours.decode(theirs.encode_ordinary(text)) == text


def test_a_tokenizer_needs_no_network_no_folder_and_changes_no_environment(tmp_path: Path) -> None:
    program = (
        "import os, socket\n"
        "def closed(*a, **k): raise OSError('no network')\n"
        "socket.create_connection = socket.getaddrinfo = closed\n"
        "from graphrag_dagster.kernel.text.tokenization import get_tokenizer\n"
        "before, os.putenv = dict(os.environ), closed\n"
        "print(get_tokenizer('cl100k_base').count('tiktoken is great!'))\n"
        "assert dict(os.environ) == before\n"
    )
    places = dict.fromkeys(("TMPDIR", "XDG_CACHE_HOME", "TIKTOKEN_CACHE_DIR"), str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | places, capture_output=True, text=True, check=False
    )
    assert done.stdout == "6\n", done.stderr
    assert list(tmp_path.iterdir()) == []


@given(st.text(alphabet="ab é_.-\n", max_size=400), st.integers(2, 20), st.data())
def test_windows_of_whole_words_begin_behind_a_word_that_is_in_the_window_before(
    text: str, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    tokenizer = get_tokenizer("cl100k_base")
    plain = tokenizer.windows(text, size, overlap)
    (whole,) = tokenizer.windows_of_many([text], size, overlap, whole_words=True)
    assert [end for _, end, _ in whole] == [end for _, end, _ in plain]
    assert whole[:1] == plain[:1]
    for before, moved, kept in zip(whole, whole[1:], plain[1:], strict=False):
        assert kept[0] <= moved[0] <= before[1]
        assert moved[2] <= size
        assert (moved[0] == kept[0]) == (moved[2] == kept[2])


def test_a_unit_does_not_begin_with_the_end_of_a_name() -> None:
    text = "yes " * 8 + "Solveig Tennantsworth came. " * 8
    tokenizer = get_tokenizer("cl100k_base")
    starts = [[text[start:] for start, *_ in windows] for windows in (
        tokenizer.windows(text, 16, 8), tokenizer.windows_of_many([text], 16, 8, whole_words=True)[0]
    )]  # fmt: skip
    cut, whole = ([one for one in rests if text[: len(text) - len(one)][-1:].isalpha() and one[:1].isalpha()] for rests in starts)  # fmt: skip
    assert cut
    assert not whole
