"""Blocks of a text: what they are, what they belong to, and that together they are the whole text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.text.blocks import Block, places_to_cut, read_blocks

GUIDE = """\
# The lamp

The keeper lights it at dusk.

## Refilling the oil

To refill the tank:

1. Close the valve.
2. Open the cap:
   - turn it left;
   - lift it.

   Do not lose it.
3. Pour.

```sh
# not a heading
lamp --fill
```

| Tank | Litres |
| ---- | ------ |
| east | 40     |
| west | 55     |

> Mind the wick.

**Afterwards**

Write it into the log.
"""


def told(text: str) -> list[tuple[str, int, str]]:
    """Kind, level and first line of each block."""
    blocks = read_blocks(text)
    assert "".join(text[one.span.start : one.span.end] for one in blocks) == text
    return [
        (one.kind, one.level, text[one.span.start : one.span.end].strip().split("\n")[0]) for one in blocks
    ]


def block(text: str, first: str) -> tuple[Block, list[Block]]:
    """The block that begins with these words, and all."""
    blocks = read_blocks(text)
    return next(one for one in blocks if text[one.span.start :].startswith(first)), blocks


def test_blocks_are_what_markdown_says_they_are() -> None:
    assert told(GUIDE) == [
        ("heading", 1, "# The lamp"),
        ("paragraph", 0, "The keeper lights it at dusk."),
        ("heading", 2, "## Refilling the oil"),
        ("paragraph", 0, "To refill the tank:"),
        ("list item", 1, "1. Close the valve."),
        ("list item", 1, "2. Open the cap:"),
        ("list item", 2, "- turn it left;"),
        ("list item", 2, "- lift it."),
        ("paragraph", 0, "Do not lose it."),
        ("list item", 1, "3. Pour."),
        ("code", 0, "```sh"),
        ("table header", 0, "| Tank | Litres |"),
        ("table row", 0, "| east | 40     |"),
        ("table row", 0, "| west | 55     |"),
        ("quotation", 0, "> Mind the wick."),
        ("heading", 7, "**Afterwards**"),
        ("paragraph", 0, "Write it into the log."),
    ]


def test_blocks_know_their_headings_and_what_introduces_them() -> None:
    last, blocks = block(GUIDE, "Write it")
    assert last.path == ("The lamp", "Refilling the oil", "Afterwards")
    row, _ = block(GUIDE, "| west")
    assert row.parent is not None
    assert blocks[row.parent].kind == "table header"
    item, _ = block(GUIDE, "1. Close")
    assert item.parent is not None
    assert GUIDE[blocks[item.parent].span.start :].startswith("To refill")
    inner, _ = block(GUIDE, "   - turn")
    assert inner.parent is not None
    assert GUIDE[blocks[inner.parent].span.start :].startswith("2. Open")
    top, _ = block(GUIDE, "# The lamp")
    assert (top.parent, top.path) == (None, ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # reStructuredText: adornments, anchors, directives with code in them, literal blocks.
        (
            "The pump\n~~~~~~~~\n\n.. _pump:\n\nIt runs::\n\n    a word\n\n.. tab:: yaml\n\n    .. code-block:: yaml\n\n"
            "        speed\n\n    Or by hand.\n",
            [
                ("heading", 3, "The pump"),
                ("markup", 0, ".. _pump:"),
                ("paragraph", 0, "It runs::"),
                ("code", 0, "a word"),
                ("paragraph", 0, ".. tab:: yaml"),
                ("paragraph", 0, ".. code-block:: yaml"),
                ("code", 0, "speed"),
                ("paragraph", 0, "Or by hand."),
            ],
        ),
        # Prose that is indented is none the less prose, code is code without an introduction.
        (
            "A verse.\n\n    The sea was calm that night.\n\n    x = {'a': [1, 2]}\n",
            [("paragraph", 0, "A verse."), ("code", 0, "The sea was calm that night.")],
        ),
        (
            "A verse.\n\n    The sea was calm.\n",
            [("paragraph", 0, "A verse."), ("paragraph", 0, "The sea was calm.")],
        ),
        # Turns of speakers and lists with signs of their own, line by line.
        (
            "ADA RUSK: Was it lit?\nIt was dark.\nSELMA DRAY: It was.\n",
            [("turn", 0, "ADA RUSK: Was it lit?"), ("turn", 0, "SELMA DRAY: It was.")],
        ),
        (
            "Bring:\n• oil\n• wicks\n",
            [("paragraph", 0, "Bring:"), ("list item", 1, "• oil"), ("list item", 1, "• wicks")],
        ),
        # A fence that nothing closes is code up to the end.
        ("Before.\n\n```\na\n\nb\n", [("paragraph", 0, "Before."), ("code", 0, "```")]),
        ("# שלום\n\n- פריט\n", [("heading", 1, "# שלום"), ("list item", 1, "- פריט")]),
        (
            "---\n\n<!-- note -->\n\nText.\n",
            [("markup", 0, "---"), ("markup", 0, "<!-- note -->"), ("paragraph", 0, "Text.")],
        ),
        ("\n \n", [("paragraph", 0, "")]),
        ("", []),
    ],
)
def test_blocks_of_other_texts(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert told(text) == expected


HOSTILE = {
    "items": "Bring:\n\n" + "".join(f"- item {number}\n" for number in range(10_000)),
    "columns": f"|{'a|' * 500}\n|{'-|' * 500}\n" + f"|{'b|' * 500}\n" * 50,
    "headings": "# a\n" * 20_000,
    "one line": "word " * 60_000,
    "quotations": "\n".join(f"{'>' * depth} x" for depth in range(300)),
    "nested items": "\n".join(f"{'  ' * depth}- x" for depth in range(400)),
    "indents": "\n\n".join(f"{'    ' * depth}x" for depth in range(1, 300)),
    "references": "[a]: b\n" * 10_000,
    "brackets": "[" * 50_000,
    "fence": "```python\n" + "x = 1\n\n" * 5_000,
    "log": "2024-01-01 12:00:00 ERROR pump: no oil {'tank': 3}\n" * 5_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_blocks_cover_what_is_large_or_deep(name: str) -> None:
    assert told(HOSTILE[name])


LINES = st.sampled_from(
    [
        *(
            "# a",
            "b",
            "====",
            "- c",
            "  - d",
            "1. e",
            "> f",
            "```",
            "    g",
            "| h | i |",
            "| - | - |",
            "***",
            "<div>",
        ),
        *(
            "",
            "",
            "ADA: j",
            ".. k::",
            ".. _l:",
            "m:",
            "**n**",
            "• o",
            "\tp",
            "q\rr",
            "\x0cs",
            "\u2028t",
            "~~~",
            "[u]: v",
        ),
    ]
)


@given(st.lists(LINES, max_size=30).map("\n".join) | st.text(max_size=200))
def test_blocks_cover_every_text_and_belong_to_earlier_ones(text: str) -> None:
    blocks = read_blocks(text)
    assert "".join(text[one.span.start : one.span.end] for one in blocks) == text
    for place, one in enumerate(blocks):
        assert one.span.start < one.span.end
        assert one.parent is None or one.parent < place
    cuts = places_to_cut(text, blocks)
    assert cuts == sorted({*cuts})
    assert not text or cuts[0] == 0
    assert {one.span.start for one in blocks} >= set(cuts)


def test_a_text_is_not_cut_behind_an_introduction() -> None:
    starts = [GUIDE[place:].split("\n")[0].strip() for place in places_to_cut(GUIDE, read_blocks(GUIDE))]
    assert "## Refilling the oil" in starts
    assert not {
        "The keeper lights it at dusk.",
        "To refill the tank:",
        "1. Close the valve.",
        "| east | 40     |",
    } & {*starts}
