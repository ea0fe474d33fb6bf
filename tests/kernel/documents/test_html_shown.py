import time

import pytest

from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile
from graphrag_dagster.kernel.documents.readers.html import read_html


def read(body: str) -> Reading:
    return read_html(f"<!doctype html><html><body>{body}</body></html>".encode(), SourceFile("a.html"))


def shown(body: str) -> str:
    return read(body).records[0].text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<button aria-expanded=false>Opening hours</button><div>Ten to five.</div>", "Opening hours\n\nTen to five."),
        ("<h3><button aria-controls=p>Who pays?</button></h3><div id=p hidden>Nobody.</div>", "### Who pays?\n\nNobody."),
        ("<div><button>When was it founded?</button><p>In 1911.</p></div>", "When was it founded?\n\nIn 1911."),
        ("<button><h2>Tickets</h2></button><p>Free.</p>", "## Tickets\n\nFree."),
        ("<dl><dt><button>Fee</button></dt><dd aria-hidden=true>It costs nine crowns now.</dd></dl>", "Fee\n:   It costs nine crowns now."),
        ("<div role=tablist><a role=tab href='#t'>Map</a></div><div id=t role=tabpanel hidden>By the quay.</div>", "Map\n\nBy the quay."),
        ("<details><summary>Who owns it?</summary><p>Hanna.</p></details>", "Who owns it?\n\nHanna."),
        ("<p hidden=until-found>Found by searching.</p>", "Found by searching."),
        ("<section><header>Opening hours</header><p>Ten.</p><footer>By Ann</footer></section>", "Opening hours\n\nTen.\n\nBy Ann"),
        ("<blockquote><p>Gone.</p><footer>— <cite>Ada Fell</cite></footer></blockquote>", "> Gone.\n>\n> — Ada Fell"),
        ("<figure><img alt=x><figcaption>The mole</figcaption></figure>", "The mole"),
        ("<dialog open>Closed on <b>Monday</b></dialog>", "Closed on Monday"),
        ("<div><template shadowrootmode=open><p>In the shadow.</p></template></div>", "In the shadow."),
        ("<p>Keeper: <input value='Tomas Weill'></p><textarea>A note.</textarea>", "Keeper: Tomas Weill\n\nA note."),
        ("<svg><title>no</title><text>Harbour <tspan>1911</tspan></text><text>Quay</text></svg>", "Harbour 1911; Quay"),
        ("<p>Area <math><mi>a</mi><mo>=</mo><mn>2</mn></math>.</p>", "Area a = 2."),
        ("<p><math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>"
         "<span class=katex-html aria-hidden=true>x2</span></p>", "x^2"),
        ("<aside><p>Hanna Brode died in 1931.</p></aside>", "Hanna Brode died in 1931."),
        ("<main><p>Main words.</p></main><aside>Hanna Brode died in 1931.</aside>", "Main words.\n\nHanna Brode died in 1931."),
        ("<header><h1>Title</h1></header><main><p>Main words.</p></main>", "# Title\n\nMain words."),
        ("<p>Open.</p><aside><p>The copyright of the chart was sold in May.</p></aside>", "Open.\n\nThe copyright of the chart was sold in May."),
        ("<p>Open.</p><footer><p>12 Quay Street, open daily.</p><p>© 2021 All rights reserved</p></footer>", "Open.\n\n12 Quay Street, open daily.\n\n© 2021 All rights reserved"),
        ("<nav><p>The museum was founded in 1911 by Marta Lindqvist.</p><a href=/>Home</a></nav>", "The museum was founded in 1911 by Marta Lindqvist.\n\nHome"),
        ("<menu><li>Soup</li><li>Fish</li></menu>", "- Soup\n- Fish"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
    ],
)  # fmt: skip
def test_what_a_browser_shows_is_in_the_text(body: str, text: str) -> None:
    assert shown(body) == text


@pytest.mark.parametrize(
    "body",
    [
        "<p style='Display :none'>secret</p>",
        "<p hidden>secret</p>",
        "<noscript>secret</noscript><template><p>secret</p></template><datalist><option>secret</datalist>",
        "<dialog>secret words that are not shown</dialog>",
        "<input type=hidden value='secret'><input type=password value=secret><input type=checkbox value=secret>",
        "<video>secret</video><canvas>secret</canvas>",
    ],
)
def test_what_a_browser_does_not_show_is_not(body: str) -> None:
    assert shown(f"<p>Open.</p>{body}") == "Open."


def test_what_nobody_quotes_is_left_out_and_counted() -> None:
    reading = read(
        "<nav><a href=/>Home</a> <a href=/b>All the news</a></nav><p>Open.</p><button>Copy</button>"
        "<select><option>One<option>Two</select><iframe src=x></iframe><footer>© 2021 The Courier</footer>"
        "<div role=dialog>We use cookies to improve your experience.</div>"
    )
    assert reading.records[0].text == "Open."
    assert reading.notes == ()
    assert reading.remarks == (
        "not in the text: 1 <iframe> element",
        "left out: overlays (7 words), navigation (4 words), fields of forms (2 words), buttons (1 word), "
        "edges of the page (3 words)",
    )


def test_a_page_that_scripts_make_says_so() -> None:
    reading = read("<div id=root></div><script>render()</script>")
    assert "scripts" in reading.notes[0]


@pytest.mark.parametrize(
    "piece",
    ["<aside>", "<nav>", "<button aria-expanded=1>", "<footer><a>", "<svg><text>", "<p hidden><dt><a>"],
)
@pytest.mark.parametrize("closed", [False, True])
def test_hostile_pages_take_time_that_grows_with_the_page(piece: str, closed: bool) -> None:
    begin = time.process_time()
    shown(piece * 1000 if not closed else f"{piece}one two three four</x>" * 1000)
    assert time.process_time() - begin < 3


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["<td rowspan=2>Wren</td><td>Cook</td><td>Ann</td>", "<td>Mate</td><td>Bo</td>"], ["Wren | Cook | Ann", "| Mate | Bo"]),
        (["<td rowspan=2 colspan=2>Wren</td><td>Ann</td>", "<td>Bo</td>", "<td>A</td><td>B</td><td>C</td>"], ["Wren | | Ann", "| | Bo", "A | B | C"]),
        (["<td>A</td><td rowspan=2>B</td>", "<td>C</td>"], ["A | B", "C |"]),
        (["<td>A</td><td rowspan=3>B</td><td>C</td>", "<td>D</td><td>E</td>", "<td>F</td><td>G</td>"], ["A | B | C", "D | | E", "F | | G"]),
        (["<td rowspan=0>A</td><td>B</td>", "<td>C</td>", "<td>D</td>"], ["A | B", "| C", "| D"]),
        (["<td rowspan=99999999999>A</td><td>B</td>", "<td>C</td>"], ["A | B", "C"]),
        (["<td rowspan=-1>A</td><td>B</td>", "<td>C</td><td>D</td>"], ["A | B", "C | D"]),
        (["<td rowspan=2>A</td><td>B</td>", "<td>C</td></tr></tbody><tbody><tr><td>D</td><td>E</td>"], ["A | B", "| C", "D | E"]),
    ],
)  # fmt: skip
def test_cells_over_several_rows_keep_the_columns(rows: list[str], expected: list[str]) -> None:
    table = "".join(f"<tr>{row}</tr>" for row in ["<th>x</th>", *rows])
    lines = read(f"<table><tbody>{table}</tbody></table>").records[0].text.split("\n")[1:]
    kept = [" ".join(line.removeprefix("|").removesuffix("|").split()) for line in lines if "---" not in line]
    assert kept == expected


def test_a_page_of_merged_cells_ends() -> None:
    row = "<td rowspan=65534 colspan=50>x</td>" * 200
    page = f"<table><tr>{row}</tr>{'<tr><td>y</td></tr>' * 200}</table>"
    assert "not all padded" in "; ".join(read(page).remarks)
