"""The page and its files: what they are sent with, and how our modules are joined."""

import hashlib
import re
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

from graphrag_dagster.service.explorer import PAGE
from graphrag_dagster.service.explorer.page_bundle import BundleError, bundle, modules_of, page_parts
from graphrag_dagster.service.http_app import make_app
from graphrag_dagster.service.settings import ServiceSettings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LOCAL = "http://127.0.0.1"
TOKEN = "t" * 20
HTML = {"Accept": "text/html"}


@pytest.fixture
def client() -> TestClient:
    return TestClient(make_app(ServiceSettings()), base_url=LOCAL)


def test_a_browser_gets_a_page_that_may_load_from_here_alone(client: TestClient) -> None:
    page = client.get("/", headers=HTML)
    assert page.headers["content-type"].startswith("text/html")
    rules = dict(rule.strip().split(" ", 1) for rule in page.headers["content-security-policy"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert "unsafe" not in page.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]* src=)|\son\w+=|style=|https?://", page.text)
    for path in re.findall(r'(?:href|src|content)="(/page/[^"]+)"', page.text):
        file = client.get(path)
        assert file.status_code == 200
        assert "immutable" in file.headers["cache-control"]


def test_files_of_another_version_are_not_kept_and_others_are_not_there(client: TestClient) -> None:
    assert client.get("/page/earlier/page.js").headers["cache-control"] == "no-cache"
    for name in ("main.js", "..%2F..%2Fpage.py", "index.html"):
        assert client.get(f"/page/{page_parts().version}/{name}").status_code == 404


def test_the_page_is_small() -> None:
    parts = page_parts()
    assert sum(len(text.encode()) for text in (parts.markup, parts.style, parts.script)) < 250_000


def test_our_modules_make_no_markup_of_texts() -> None:
    ways = r"(inner|outer)HTML|insertAdjacent|document\.write|\beval\(|new Function|DOMParser|createContextualFragment"
    for name, module in modules_of(PAGE / "js").items():
        assert not re.search(ways, module), name


CAFE = "Il va au cafe\u0301 d'İzmir 👍 — CAFÉ, Straße, 각각."
IN_PAGE = """
import { foldedRanges, wordsOf } from "./embedded_tables.js";
import { foundIn } from "./embedded_texts.js";
import { markerOf } from "./marked_words.js";
import { drawMarks, textWithMarks } from "./answer_marks.js";
import { markdown } from "./markdown.js";
import { markSentences } from "./statements_marked.js";
const inPage = { foldedRanges, wordsOf, foundIn, markerOf, drawMarks, textWithMarks, markdown, markSentences };
Object.assign(window, inPage);
"""


@pytest.fixture
def functions(browser: "Browser") -> "Page":
    """A page with functions of the explorer's script."""
    page = browser.new_page()
    page.evaluate(bundle({**modules_of(PAGE / "js"), "in_page": IN_PAGE}, "in_page"))
    return page


@pytest.mark.long
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("cafe", ["cafe\u0301", "CAFÉ"]),
        ("CAFE\u0301", ["cafe\u0301", "CAFÉ"]),
        ("i\u0307zmir", ["İzmir"]),
        ("straße 👍", ["👍", "Straße"]),
        ("가", ["각", "각"]),
    ],
)
def test_words_are_marked_at_their_place_whatever_the_accents(
    functions: "Page", query: str, found: list[str]
) -> None:
    """Folding changes how many units a text has; every range is of whole characters of the text."""
    marked = functions.evaluate(
        """([text, query]) => {
            const made = document.createElement("p");
            made.append(...markerOf(query)(text));
            return [[...made.querySelectorAll("mark")].map((one) => one.textContent), made.textContent];
        }""",
        [CAFE, query],
    )
    # Two marks that touch are one.
    assert ["".join(marked[0]), marked[1]] == ["".join(found), CAFE]
    text = {"parts": [{"text": "👍" * 95 + CAFE, "start": 0}]}
    document = {"document_id": "d", "title": "", "path": ""}
    answers = {"/corpora/c/documents/d": document, "/corpora/c/documents/d/text": text}
    (place,) = functions.evaluate(
        "([answers, query]) => foundIn(answers, 'c', query, 9).passages", [answers, query]
    )
    whole = text["parts"][0]["text"]
    assert whole[place["start_char"] : place["end_char"]] == place["words"]
    assert place["words"] in found
    assert place["before"] + place["words"] + place["after"] in whole
    assert len(place["before"]) == 90


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "marked", "drawn"),
    [
        ("👍 Built by Ada Rusk in *May*. [1]", "Ada Rusk", ["Ada Rusk"]),
        ("**Log**\n\nIn 1924, see https://example.org/1924.", "1924", ["1924"]),
        ("Press `12 times`.", "12", []),
        ("See [the log of 1924](https://example.org/a).", "1924", []),
        ("- 12 boats\n- 7 crews", "12", ["12"]),
    ],
)
def test_marks_are_drawn_in_prose_and_leave_the_text_as_it_is(
    functions: "Page", text: str, marked: str, drawn: list[str]
) -> None:
    start = text.index(marked)
    answer = {"text": text, "marks": [{"start": start, "end": start + len(marked)}]}
    bold, with_marks, plain, link = functions.evaluate(
        """(answer) => {
            const draw = (marks) => {
                const made = document.createElement("div");
                made.append(...markdown(textWithMarks({ ...answer, marks }), () => null));
                drawMarks(made);
                return made;
            };
            const [made, bare] = [draw(answer.marks), draw([])];
            const bold = [...made.querySelectorAll("strong")].map((one) => one.textContent);
            const href = (root) => root.querySelector("a")?.getAttribute("href");
            return [bold, made.textContent, bare.textContent, href(made) === href(bare)];
        }""",
        answer,
    )
    assert [one for one in bold if one != "Log"] == drawn
    assert with_marks == plain
    assert link


@pytest.mark.long
def test_a_sentence_is_marked_with_the_accent_that_it_ends_in(functions: "Page") -> None:
    marked = functions.evaluate(
        """(text) => {
            document.body.textContent = text;
            markSentences(document.body, [{ text: "Il va au cafe\u0301" }], () => ({ classes: "", after: null }));
            return document.querySelector(".sentence").textContent;
        }""",
        "Il va au cafe\u0301. Il dort.",
    )
    assert marked == "Il va au cafe\u0301."


def test_vendored_files_come_with_their_licences() -> None:
    told = (PAGE / "vendor" / "README.md").read_text(encoding="utf-8")
    for file in sorted((PAGE / "vendor").glob("*.js")):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in told
        assert (PAGE / "vendor" / f"{file.name.split('.')[0]}.LICENSE.txt").is_file()


def test_modules_are_joined_in_the_order_of_their_imports() -> None:
    joined = bundle(
        {
            "main": 'import { b } from "./b.js";\nimport {\n  a,\n} from "./a.js";\nb(a);\n',
            "b": 'import { a } from "./a.js";\n/** Says\n * b. */\nexport function b(x) { return x + a; }\n',
            "a": "export const a =\n  /** @type {any} */ (1);\n/** Ends. */\n",
        },
        "main",
    )
    assert joined == (
        '(() => {\n"use strict";\nconst a =\n  /** @type {any} */ (1);\nfunction b(x) { return x + a; }\nb(a);\n})();\n'
    )


def test_a_comment_before_code_takes_no_code_with_it() -> None:
    code = "/** @type {A} */ (a).b();\n"
    joined = bundle({"main": f"const a = 1;\n{code}/** Of c. */\nconst c = 2;\n"}, "main")
    assert f"const a = 1;\n{code}const c = 2;\n" in joined


@pytest.mark.parametrize(
    ("modules", "told"),
    [
        ({"main": 'import { a } from "./a.js";\n'}, "no module a.js, which main imports"),
        (
            {"main": 'import { a } from "./a.js";\n', "a": 'import { m } from "./main.js";\n'},
            "in a circle: main → a → main",
        ),
        ({"main": 'import a from "./a.js";\n'}, "write 'import a from"),
        ({"main": "export default 3;\n"}, "write 'export default 3;'"),
        (
            {"main": 'import { a } from "./a.js";\nconst a = 1;\n', "a": "export const a = 1;\n"},
            "main.js declares a, as a.js does",
        ),
    ],
)
def test_modules_that_cannot_be_joined_are_named(modules: dict[str, str], told: str) -> None:
    with pytest.raises(BundleError, match=re.escape(told)):
        bundle(modules, "main")


@pytest.fixture
def guarded() -> TestClient:
    return TestClient(make_app(ServiceSettings(token=TOKEN)), base_url=LOCAL)


def test_the_token_is_given_once_and_kept_where_no_script_reads_it(guarded: TestClient) -> None:
    assert guarded.get("/", headers=HTML).status_code == 200
    assert guarded.get(f"/page/{page_parts().version}/page.js").status_code == 200
    assert guarded.get("/corpora").status_code == 401
    assert guarded.post("/login", json={"token": "wrong" * 5}).status_code == 401
    assert guarded.get("/corpora").status_code == 401
    entered = guarded.post("/login", json={"token": TOKEN})
    told = entered.headers["set-cookie"]
    assert "HttpOnly" in told
    assert "SameSite=strict" in told
    assert TOKEN not in told
    assert guarded.get("/corpora").status_code == 200
    guarded.post("/logout", headers={"Origin": LOCAL})
    assert guarded.get("/corpora").status_code == 401


def test_the_cookie_alone_makes_no_page_of_another_site_ask(guarded: TestClient) -> None:
    guarded.post("/login", json={"token": TOKEN})
    path, body = "/corpora/none/ask", {"question": "Who?"}
    for origin in ({}, {"Origin": "http://127.0.0.1:9999"}, {"Origin": "null"}):
        assert guarded.post(path, json=body, headers=origin).status_code == 403
    assert guarded.post(path, json=body, headers={"Origin": LOCAL}).status_code == 404


@pytest.mark.parametrize("cookie", ["graphrag_dagster=", "graphrag_dagster=é", "=;;=", "graphrag_dagster"])
def test_other_cookies_let_nobody_in(guarded: TestClient, cookie: str) -> None:
    assert guarded.get("/corpora", headers={"Cookie": cookie.encode()}).status_code == 401


def test_a_server_without_token_asks_for_none(client: TestClient) -> None:
    entered = client.post("/login", json={"token": "anything"})
    assert entered.status_code == 204
    assert "set-cookie" not in entered.headers


def test_a_login_that_is_no_token_is_refused_without_repeating_it(guarded: TestClient) -> None:
    refused = guarded.post("/login", json={"token": "secret-secret-secret", "more": 1})
    assert refused.status_code == 422
    assert "secret" not in refused.text
