"""Which sentences can be quoted, whatever marks they are written with, and what no sentence is."""

from dataclasses import replace
from time import process_time

import pytest

from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.engines.extractive.sentence_selection import sentences_of
from graphrag_dagster.kernel.models.local_embedders import StaticEmbedder
from graphrag_dagster.kernel.questions.context.context_units import SourceUnits
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.markup_spans import code_blocks
from graphrag_dagster.kernel.text.quotable_sentences import readability, speaker_before
from support.index_frames import filled, index_of

EMBEDDER = StaticEmbedder()
MINUTES = """# Minutes of the Rowing Club

* **Treasurer:** Jane Doe
* Tom Hale was elected as secretary.
1. maria lindqvist was elected as captain of boats.
   1.1.1 the deputy is `pkraus`, who keeps the oars.
- [x] The boathouse roof was repaired by Brandt & Sons.

| Office | Holder |
| ------ | ------ |
| Auditor | Otto Weill |

> The club thanks the U.S. Forest Service (USFS) for the
> timber of the new pier.

{{< note >}} The [annual dinner. See here](https://club.example/dinner) is held at the Mill Inn. {{< /note >}}

Patron
: Lady Agnes Rusk
"""


@pytest.mark.parametrize(
    "sentence",
    [
        "* Jane Smith was elected as treasurer.",
        "1. maria lindqvist was elected as captain.",
        "1.2.3 The board shall meet in May.",
        "- [x] The roof was repaired by Brandt & Sons.",
        "(b) In May the board met.",
        "#. The board met in May.",
        "> The club thanks the U.S. Forest Service (USFS).",
        "## The treasurer is Jane Doe",
        "# The board met in May.",
        "| Treasurer | Jane Doe |",
        "**Treasurer:** Jane",
        "Treasurer: Jane Doe",
        ": The treasurer keeps the accounts.",
        "- Jane Doe, treasurer",
        "[^1]: The lease was signed in May.",
        ".. [1] The lease was signed in May.",
        ".. note:: The lease was signed in May.",
        "`mitmproxy` is a proxy.",
        "mitmproxy is a proxy.",
        "httpx.Client is a class that keeps connections.",
        "iPhone sales rose in May.",
        "[Jane Doe](https://x.example) was elected.",
        ":ref:`facets` are shown beside the table.",
        "`Facets <facets.rst>`_ are shown beside the table.",
        "* ``max_returned_rows`` limits the rows of a page.",
        "![Jane at her desk](jane.png) Jane was elected.",
        "Fish &amp; chips are served on Friday.",
        "<li>Jane was elected as treasurer.</li>",
        "{{< note >}} The cache is cleared at noon.",
        "{% if user %}The cache is cleared at noon.{% endif %}",
        "the board met in May.",
        "the museum was closed because the roof was leaking",
        "anna: did tomas open the archive yet?",
        "tomas: yes i opened the archive",
        "[00:12] the keeper lost the key of the archive",
        "10:30 The meeting was opened by the chair.",
        "<anna> i left the key under the stone",
        "THE BOARD MET IN MAY.",
        "He left.",
        "Jane resigned.",
        "He asked “Who is there?”",
        "She said it was over…",
        "version 1.2.3 fixes the memory leak.",
        "Die Kasse wurde von Frau Weiß geführt.",
        "¿Quién fue elegida tesorera?",
        "港の町は静かです。",
        "هل هذا صحيح؟ نعم هذا صحيح.",
        "यह एक छोटा वाक्य है।",
    ],
)
def test_what_a_person_can_read_can_be_quoted(sentence: str) -> None:
    assert readability(sentence) > 0


@pytest.mark.parametrize(
    "scrap",
    [
        *(
            "",
            "Minutes.",
            "Features",
            "---",
            "=====",
            "}",
            "1.2.3",
            "THE BOARD",
            "the board of",
            "+-----+-----+",
        ),
        *("| --- | --- |", "So , you have a", "and then he went,", "(:issue:`903`)", "https://a.example/b/c"),
        *("```python", ".. code-block:: python", ".. _facets:", "::: httpx.Client", "<!-- NOTE: sorted. -->"),
        *(
            "{{< note >}}",
            "{% include 'a.html' %}",
            '<img src="a.png">',
            '<div class="x">',
            "[![CI](a.svg)](b)",
        ),
        *(
            "import Tabs from '@theme/Tabs'",
            "export const x = 3;",
            "import httpx",
            "const a = await fetch(b)",
        ),
        *(
            ">>> r = httpx.get('https://a.example')",
            "$ pip install httpx",
            "r = client.get('/')",
            "await a.b(c)",
        ),
        *("def auth_flow(self, request):", '@app.route("/")', "SELECT * FROM museums WHERE id = 3"),
    ],
)
def test_marks_code_and_scraps_are_never_quoted(scrap: str) -> None:
    assert readability(scrap) == 0


@pytest.mark.parametrize(
    ("line", "speaker"),
    [
        ("tomas: yes i opened it", "tomas"),
        ("[10:32] tomas: yes", "tomas"),
        ("10:32 - Tomas Weill: yes", "Tomas Weill"),
        ("<tomas> yes", "tomas"),
        ("@tomas: yes", "tomas"),
        ("Томас: да", "Томас"),
        ("note: the roof leaks", ""),
        ("so: the roof leaks", ""),
        ("the answer is: yes", ""),
        ("Default: the roof", ""),
    ],
)
def test_who_speaks_is_told_in_chats(line: str, speaker: str) -> None:
    assert speaker_before(line)[0] == speaker


def indexed(text: str, size: int = 10_000) -> IndexSnapshot:
    starts = range(0, len(text), size)
    chunks = [
        {"text_unit_id": f"u{n}", "human_readable_id": n, "document_id": "d", "text": text[start : start + size],
         "start_char": start, "end_char": min(start + size, len(text))}
        for n, start in enumerate(starts)
    ]  # fmt: skip
    document = {"document_id": "d", "title": "Minutes", "path": "minutes.md", "text": text}
    return replace(
        index_of({}),
        documents=filled(tables.DOCUMENTS, [document]),
        text_chunks=filled(tables.TEXT_CHUNKS, chunks),
    )


def first_quoted(text: str, question: str) -> tuple[str, str]:
    """The first quotation as it is shown, and the document's characters that it stands for."""
    index = indexed(text)
    answer = ExtractiveAnswerer(EMBEDDER).answer(question, list(SourceUnits(index).all), "x" * 9_000)
    shown, _, quote = answer.quotes[0]
    assert quote is not None
    return shown, index.words(quote)


@pytest.mark.parametrize(
    ("question", "shown", "exact"),
    [
        ("Who was elected as treasurer?", "**Treasurer:** Jane Doe", None),
        ("Who was elected as secretary?", "Tom Hale was elected as secretary.", None),
        ("Who was elected as captain?", "maria lindqvist was elected as captain of boats.", None),
        ("Whose oars does the deputy keep?", "the deputy is `pkraus`, who keeps the oars.", None),
        ("Who repaired the roof?", "The boathouse roof was repaired by Brandt & Sons.", None),
        ("Where is the annual dinner held?", "The [annual dinner. See here](https://club.example/dinner) is held at the Mill Inn.", None),
        ("Who is the lady, Agnes Rusk?", "Lady Agnes Rusk", None),
        ("Who gave timber for the pier?", "The club thanks the U.S. Forest Service (USFS) for the timber of the new pier.", "The club thanks the U.S. Forest Service (USFS) for the\n> timber of the new pier."),
    ],
)  # fmt: skip
def test_items_cells_and_quotations_answer_in_their_exact_words(
    question: str, shown: str, exact: str | None
) -> None:
    assert first_quoted(MINUTES, question) == (shown, exact or shown)


@pytest.mark.parametrize(
    ("text", "question", "answer"),
    [
        ("the roof was leaking. the keeper lost the key of the archive.", "What did the keeper lose?", "the keeper lost the key of the archive."),
        ("anna: did tomas open the archive yet?\ntomas: yes i opened the archive on monday.\nanna: where is the key?\ntomas: the brass key is under the stone.", "Where is the brass key?", "tomas: the brass key is under the stone."),
        ("welcome to the museum and thank you all for coming here\nthe roof was leaking for a long time and it had to be closed\nthe keeper of the archive lost his brass key on a monday evening\nso they had to break the door and the lock is new since then", "What did the keeper lose?", "the keeper of the archive lost his brass key on a monday evening"),
        ("[00:01] the roof was leaking\n[00:09] the keeper lost the brass key", "What did the keeper lose?", "[00:09] the keeper lost the brass key"),
    ],
)  # fmt: skip
def test_texts_without_capitals_or_marks_are_quoted_as_others_are(
    text: str, question: str, answer: str
) -> None:
    shown, exact = first_quoted(text, question)
    assert (shown, " ".join(exact.split())) == (answer, answer)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```sh\n# The roof leaks here.\n```\nThe roof is old.\n", ["# The roof leaks here."]),
        ("Like so::\n\n    # The roof leaks here.\n\nThe roof is old.\n", ["# The roof leaks here."]),
        (
            ".. code-block:: sh\n\n    # The roof leaks here.\n\nThe roof is old.\n",
            ["# The roof leaks here."],
        ),
        ("~~~\n# The roof leaks here.\n~~~\n\nThe roof is old.\n", ["# The roof leaks here."]),
        ("The roof\n~~~~~~~~\n\nThe roof is old.\n\nThe wall\n~~~~~~~~\n\nThe wall is new.\n", []),
        ("The roof is old.\n\n```\n# The roof leaks here.\n", ["# The roof leaks here."]),
    ],
)
def test_what_stands_in_blocks_of_code_is_not_quoted(text: str, code: list[str]) -> None:
    found = sentences_of([list(SourceUnits(indexed(text)).all)])
    assert [one.text for one in found if readability(one.text) and not one.quotable] == code
    assert "The roof is old." in {one.text for one in found if one.quotable}


@pytest.mark.parametrize(
    "text", ["```\n" * 40_000, "\n\n~~~a\n" * 20_000, "a::\n  b\n" * 20_000, " " * 50_000 + "a::", "x::\n" + " \n" * 50_000]
)  # fmt: skip
def test_blocks_of_code_are_found_in_linear_time(text: str) -> None:
    begin = process_time()
    code_blocks(text)
    assert process_time() - begin < 2


def test_what_the_edge_of_a_text_unit_cuts_off_is_not_quoted() -> None:
    text = "The harbour master signed the lease of the north quay. The rent of the quay was high."
    index = indexed(text, size=70)
    quotable = {one.text: one.quotable for one in sentences_of([list(SourceUnits(index).all)])}
    assert quotable == {
        "The harbour master signed the lease of the north quay.": True,
        "The rent of the": False,
        "quay was high.": False,
    }
    whole = {
        one.text: one.quotable for one in sentences_of([list(SourceUnits(indexed("quay was high.")).all)])
    }
    assert whole == {"quay was high.": True}


GUIDE = """# Quaylog

Quaylog writes a log of the harbour. It can be installed in two ways.

You can install the quaylog program with:

```console
$ pip install quaylog
$ quaylog --version
```

To remove the quaylog program again, run:

    pip uninstall quaylog

The quaylog program runs on the following systems:

* Linux, since the first release
* Windows
1. macOS

These are all harbours that the quaylog program knows: the old and the new one.
"""


@pytest.mark.parametrize(
    ("question", "shown", "end"),
    [
        (
            "How do I install the quaylog program?",
            "You can install the quaylog program with: `$ pip install quaylog` `$ quaylog --version`",
            "quaylog --version",
        ),
        (
            "How do I remove the quaylog program?",
            "To remove the quaylog program again, run: `pip uninstall quaylog`",
            "    pip uninstall quaylog",
        ),
        (
            "On which systems does the quaylog program run?",
            "The quaylog program runs on the following systems: Linux, since the first release; Windows; macOS",
            "1. macOS",
        ),
    ],
)
def test_a_sentence_comes_with_the_code_or_the_list_that_it_introduces(
    question: str, shown: str, end: str
) -> None:
    said, exact = first_quoted(GUIDE, question)
    assert said == shown
    assert exact in GUIDE
    assert exact.endswith(end)


def test_a_colon_introduces_neither_text_nor_long_code() -> None:
    long = "You can install the quaylog program with:\n\n```\n" + "$ step\n" * 9 + "```\n"
    for text in (long, "You can install the quaylog program with:\n\nthe usual tools of the harbour."):
        said, exact = first_quoted(text, "How do I install the quaylog program?")
        assert said == exact == "You can install the quaylog program with:"


@pytest.mark.parametrize(
    "behind", ["\n" * 1_200, "\n```\n" * 240, "\n" + "\n    a" * 200, "\n- a" * 300, " \n" * 600]
)
def test_what_a_colon_introduces_is_found_in_linear_time(behind: str) -> None:
    row = list(SourceUnits(indexed(f"It is installed with:{behind * 3}")).all)
    introducing = [one for one in sentences_of([row]) if one.words.endswith(":")]
    assert introducing
    begin = process_time()
    for one in introducing:
        _ = one.introduced
    assert process_time() - begin < 1
