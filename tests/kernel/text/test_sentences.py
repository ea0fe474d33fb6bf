from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans


def sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


@pytest.mark.parametrize(
    "expected",
    [
        ["Mr. Smith met Dr. J. R. Jones.", "They left."],
        ["He lives in the U.S.", "The law is old."],
        ["The U.S. Government acted.", "Fine."],
        ["It cost 3.5 million.", "See No. 5 and Fig. 3.", "Done."],
        ["No.", "It was not so."],
        ["“Really?” he asked.", "“Yes.”", "She left."],
        ['He said "Stop."', "Then he ran."],
        ["She works for Acme Inc.", "The firm is old.", "Acme Inc. Chairman Bob resigned."],
        ["Wait... what?", "Yes...", "The end."],
        ["At 5 p.m. the tide turned.", "At 6 p.m. Monday it fell."],
        ["Smith et al. (2010) showed this.", "Brown et al. found that."],
        ["We use e.g. Python, i.e. a language.", "Visit www.example.com.", "Now."],
        ["George W. Bush spoke.", "Plan B.", "The end.", "So do I.", "He left."],
        ["It was 2019.", "15 people died."],
        ["This is cited.[12]", "Next one.[3, 4]", "End."],
        ["He arrived on Jan. 5.", "It rained."],
        ["Prices rose (by 5%).", "(It was bad.)", "All left."],
        ["JOHN:  Hello there.", "KEVIN SCOTT:  Hi!", "How are you?"],
        ["St. Paul's was closed.", "We met on Main St.", "The shop was open."],
        ["Jeopardy! is a show.", "Hello!"],
        ["Ph.D. students work.", "She has a Ph.D.", "She is 30."],
        ["Captain Rusk (b. 1950) sailed.", "He died."],
        ["Haddow v. Council was heard.", "It ended."],
        ["What?!", "No!!", "Really."],
        ["यह एक वाक्य है।", "दूसरा वाक्य।"],
        ["The U.S. Forest Service (USFS) built it.", "The **U.S. Forest Service** (USFS) keeps it."],
        ["A U.S. <b>Forest Service</b> (USFS) hut.", "A U.S. [Forest Service](http://a.example) hut."],
        ["See [What is it? A tool](http://a.example/b).", "Then [go.](http://a.example)", "Next."],
        ["Run `a. B` now.", "See https://a.example/b?C=d.", "`x` is small.", "mitmproxy is older.", "Done."],
        ["See e.g. `foo` and p. 12.", "It weighs approx. three pounds.", "It is old."],
        ["The :ref:`U.S. Parks. All <parks>` page.", "`Parks. All <parks.html>`__ are open."],
        ["Jane was elected.[^1]", "{{< note >}} The cache is old {{< /note >}} here.", "It went."],
        ["هل هذا صحيح؟", "نعم هذا صحيح.", "انتهى."],
    ],
)
def test_sentences(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected
    assert sentences("\n\n  " + "\n".join(expected) + "\n") == expected


def test_east_asian_stops_need_no_space() -> None:
    assert sentences("港の町。海の近く！そうですか？「はい。」終わり") == [
        "港の町。",
        "海の近く！",
        "そうですか？",
        "「はい。」",
        "終わり",
    ]


def test_wrapped_lines_are_one_sentence() -> None:
    text = (
        "The harbour master signed the plan that had been brought to him by\n"
        "Captain Rusk of the Atlas Nine, who had not slept. He was asked by Mr.\n"
        "Ogilby why."
    )
    assert len(sentences(text)) == 2


def test_headings_lists_labels_and_blank_lines_are_boundaries() -> None:
    text = (
        "# Minutes of the board\nPresent were four members of the board and the clerk of the harbour office\n"
        "Chair: Eleonora Prothero\n\nAgenda\n\n- the barge\n- the pin\n1. Vote\n2. Close\n| a | b |\nEnd"
    )
    assert sentences(text) == [
        "# Minutes of the board",
        "Present were four members of the board and the clerk of the harbour office",
        "Chair: Eleonora Prothero",
        "Agenda",
        "- the barge",
        "- the pin",
        "1. Vote",
        "2. Close",
        "| a | b |",
        "End",
    ]


@pytest.mark.parametrize(
    "expected",
    [
        ["- [x] Done it", "- [ ] Not done"],
        ["1.1.1 One thing", "1.1.2 Another thing", "1.2 The third thing"],
        ["Term", ": What it means."],
        ["[00:01] hello there", "[00:05] and so on"],
        ["anna: did tomas open it?", "tomas: yes i opened it.", "anna: ok"],
        ["<p>Jane was elected.</p>", "<p>Tom was not.</p>"],
        [".. _parks:", "All parks are open."],
        ["> The harbour master\n> signed it.", "> He left."],
        [".. note:: All parks are open and have been\n   so for years."],
        ["===", "Title", "^^^"],
        ["> [!NOTE]", "> The roof is old and has been\n> so for years."],
        [":::note", "The roof is old.", ":::"],
        ["``action`` - string\n    The action name", "``actor`` - dictionary\n    The actor."],
        [
            "The file can be used to define the queries\n`of the page <https://a.example/a/long/address>`_, too."
        ],
        ["{% if open %}", "All parks are open.", "{% endif %}"],
    ],
)
def test_lines_that_mean_something_are_boundaries(expected: list[str]) -> None:
    assert sentences("\n".join(expected)) == expected


def test_the_kind_of_an_admonition_is_no_part_of_its_words() -> None:
    found = sentences('!!! important "Read this"\n    The `trio` package must be there.\n')
    assert found[-1] == "The `trio` package must be there."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the roof leaks. is it old? yes it is.", ["the roof leaks.", "is it old?", "yes it is."]),
        ("a<br>b", ["a<br>", "b"]),
        ("“Will they come?” he asked. “yes.” he said.", ["“Will they come?” he asked.", "“yes.” he said."]),
    ],
)
def test_sentences_without_capitals(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


def test_speech_without_marks_is_cut_into_pieces() -> None:
    line = "the museum was closed and nobody came to see it because the roof was leaking"
    assert sentences("\n".join([line] * 4)) == [line] * 4
    pieces = sentences(" ".join([line] * 20))
    assert max(len(one.split()) for one in pieces) <= 30
    assert min(len(one.split()) for one in pieces) >= 10
    prose = "The clerk, who had counted the sacks, the ropes and the nails, " * 6 + "went home."
    assert sentences(prose) == [prose]


def test_a_short_line_before_a_long_one_was_ended_on_purpose() -> None:
    long = "The Courier reports that the storm of Tuesday night has broken the moorings of a crane barge."
    assert sentences(f"Storm Agda\n{long}") == ["Storm Agda", long]


@pytest.mark.parametrize(
    "text",
    [
        "J. " * 50_000,
        "." * 200_000 + "x",
        " " * 300_000,
        "\n" * 200_000,
        "a" * 300_000,
        "a\n" * 100_000,
        "Dr. " * 50_000,
        "[" * 50_000 + "a. B",
        "`a <b. " * 30_000,
        "{{ a. B " * 20_000,
        "<a b. " * 30_000,
        "the roof " * 40_000,
        "a: b\n" * 40_000,
    ],
    ids=["initials", "stops", "blanks", "line ends", "letters", "lines", "titles", "brackets", "code", "templates", "tags", "words", "dialogue"],
)  # fmt: skip
def test_long_texts_of_one_kind_come_to_an_end(text: str) -> None:
    spans = sentence_spans(text)
    assert [one for one, other in pairwise(spans) if one.end > other.start] == []
    assert not spans or spans[-1].end <= len(text)


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from(" .\n!?\"'Aa1。Mr-#")), max_size=200))
def test_spans_cover_all_that_is_not_blank(text: str) -> None:
    place = 0
    for span in sentence_spans(text):
        assert span.start >= place
        assert not text[place : span.start].strip()
        assert text[span.start : span.end] == text[span.start : span.end].strip() != ""
        place = span.end
    assert not text[place:].strip()
