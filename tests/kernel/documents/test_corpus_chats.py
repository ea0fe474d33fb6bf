"""Exports of chats, conversations with models, and structured texts as lines of speech."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.documents.document_metadata import periods_of
from graphrag_dagster.kernel.documents.file_reading import format_of, reader_of
from graphrag_dagster.kernel.documents.file_records import Reading, SourceFile
from graphrag_dagster.kernel.text.quotable_sentences import SentenceLine, turns
from graphrag_dagster.kernel.text.sentence_splitting import sentence_spans
from support.reading import read_corpus


def read(content: object, path: str, names: dict[str, str] | None = None) -> Reading:
    kind = format_of(path)
    assert kind is not None
    data = content if isinstance(content, str) else json.dumps(content)
    return reader_of(kind)(data.encode(), SourceFile(path, names=names or {}))


def days(reading: Reading) -> list[tuple[str | None, str]]:
    """Date and lines of each document."""
    return [(record.date, record.text) for record in reading.records]


HANNA, MARTA = "Did Tomas Weill open the archive?", "Yes, he did."
SAID = f"2023-01-04\n\nHanna Brode (19:05): {HANNA}\n\nMarta Lindqvist (19:06): {MARTA}"
NEXT = "2023-01-05\n\nHanna Brode (08:10): Then we can begin."


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("1/4/23, 7:05 PM - ", "1/4/23, 7:06 PM - ", "1/5/23, 8:10 AM - "),
        ("1/4/23, 7:05\u202fPM - ", "1/4/23, 7:06\u202fPM - ", "1/5/23, 8:10\u202fAM - "),
        ("04/01/2023, 19:05 - ", "04/01/2023, 19:06 - ", "05/01/2023, 08:10 - "),
        ("04.01.23, 19:05 - ", "04.01.23, 19:06 - ", "05.01.23, 08:10 - "),
        ("04-01-2023 19:05 - ", "04-01-2023 19:06 - ", "05-01-2023 08:10 - "),
        ("2023-01-04, 19:05 - ", "2023-01-04, 19:06 - ", "2023-01-05, 08:10 - "),
        ("4/1/23, 7:05 p. m. - ", "4/1/23, 7:06 p. m. - ", "5/1/23, 8:10 a. m. - "),
        ("[04/01/23, 19:05:12] ", "\u200e[04/01/23, 19:06:12] ", "[05/01/23, 08:10:59] "),
        ("[2023-01-04 19:05:12] ", "[2023-01-04 19:06:12] ", "[2023-01-05 08:10:12] "),
        ("[04.01.23, 19:05:12] ", "[04.01.23, 19:06:12] ", "[05.01.23, 08:10:12] "),
        ("[1/4/23, 7:05:12 PM] ", "[1/4/23, 7:06:12 PM] ", "[1/5/23, 8:10:12 AM] "),
    ],
)
def test_whatsapp_in_its_forms(first: str, second: str, third: str) -> None:
    text = f"\ufeff{first}Hanna Brode: {HANNA}\n{second}Marta Lindqvist: {MARTA}\n{third}~ Hanna Brode: Then we can begin.\n"
    reading = read(text, "chats/WhatsApp Chat with Museum.txt")
    assert days(reading) == [("2023-01-04", SAID), ("2023-01-05", NEXT)]
    assert [record.title for record in reading.records] == ["Museum, 2023-01-04", "Museum, 2023-01-05"]
    assert reading.records[0].metadata["speakers"] == ["Hanna Brode", "Marta Lindqvist"]


@pytest.mark.parametrize(
    ("stamps", "dates"),
    [
        (["3/4/23, 10:00", "4/4/23, 10:00"], ["2023-04-03", "2023-04-04"]),
        (["3/4/23, 10:00", "3/5/23, 10:00"], ["2023-03-04", "2023-03-05"]),
        (["3/4/23, 10:00", "13/4/23, 10:00"], ["2023-04-03", "2023-04-13"]),
        (["3/4/23, 10:00", "3/13/23, 10:00"], ["2023-03-04", "2023-03-13"]),
        (["3/4/23, 9:00 am", "4/4/23, 9:00 am"], ["2023-04-03", "2023-04-04"]),
        (["11/1/22, 10:00", "12/1/22, 10:00", "1/1/23, 10:00"], ["2022-11-01", "2022-12-01", "2023-01-01"]),
    ],
)
def test_the_order_of_day_and_month_is_that_of_the_whole_chat(stamps: list[str], dates: list[str]) -> None:
    reading = read("".join(f"{stamp} - Ada Fell: Said here.\n" for stamp in stamps), "a.txt")
    assert [record.date for record in reading.records] == dates


def test_whatsapp_messages_of_several_lines_and_what_is_no_message() -> None:
    text = (
        "1/14/23, 7:02 PM - Messages and calls are end-to-end encrypted.\n"
        "1/14/23, 7:05 PM - marta_l: First line.\nsecond: line\n\nthird line\n"
        "1/14/23, 7:06 PM - +44 7700 900123: <Media omitted>\n"
        "1/14/23, 7:06 PM - +44 7700 900123: IMG-1.jpg (file attached)\nThe roof.\n"
        "1/14/23, 7:08 PM - marta_l: Meet at 8.\n"
        "1/14/23, 7:09 PM - Ada added Tom\n"
    )
    reading = read(text, "a.txt")
    assert days(reading) == [
        (
            "2023-01-14",
            "2023-01-14\n\nmarta_l (19:05): First line.\nsecond: line\n\nthird line\n\n+44 7700 900123 (19:06): The roof.\n\n"
            "marta_l (19:08): Meet at 8.",
        )
    ]
    (note,) = reading.notes
    for part in ("pictures and other media (2)", "lines that nobody says, e.g. 'Messages and calls"):
        assert part in note
    assert "' (2), " in note


@pytest.mark.parametrize(
    "text",
    [
        "On 1/4/23, 7:05 PM - Hanna: yes\n1/4/23, 7:05 PM - Hanna: no\n",
        "1/4/23, 7:05 PM - a log without names\n1/4/23, 7:06 PM - another line\n",
        "2023-01-04 19:05:12 INFO started: yes\n2023-01-04 19:05:13 INFO ended: no\n",
        "[1] Hanna Brode: yes\n[2] Marta: no\n",
    ],
)
def test_a_text_that_is_no_chat_stays_as_it_is(text: str) -> None:
    assert days(read(text, "a.txt")) == [(None, text)]


def test_speakers_and_questions_are_those_of_turns() -> None:
    text = (
        read(f"1/14/23, 7:05 PM - marta_l: {HANNA}\n1/14/23, 7:06 PM - +44 7700: {MARTA}\n", "a.txt")
        .records[0]
        .text
    )
    spans = [text[span.start : span.end] for span in sentence_spans(text)]
    found = turns([SentenceLine(one, place, len(spans), 1) for place, one in enumerate(spans)])
    assert [(turn.speaker, turn.asks) for turn in found[1:]] == [("marta_l", True), ("+44 7700", False)]


CHATGPT = {
    "title": "Museum talk",
    "create_time": 1699999999.5,
    "conversation_id": "c-1",
    "current_node": "d",
    "mapping": {
        "a": {"parent": None, "children": ["b"], "message": None},
        "b": {"parent": "a", "children": ["c", "d"], "message": {"author": {"role": "user"}, "create_time": 1699999999.5, "content": {"content_type": "multimodal_text", "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "x"}, "Who is this?"]}}},
        "c": {"parent": "b", "children": [], "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Nobody."]}}},
        "x": {"parent": "b", "children": ["d"], "message": {"author": {"role": "tool", "name": "browser"}, "content": {"content_type": "text", "parts": ["found"]}}},
        "d": {"parent": "x", "children": [], "message": {"author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Marta Lindqvist."]}}},
    },
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        [
            CHATGPT,
            CHATGPT
            | {
                "title": "Other",
                "mapping": {"b": CHATGPT["mapping"]["b"] | {"parent": None}},
                "current_node": "b",
            },
        ],
        CHATGPT,
    ],
)  # type: ignore[index]
def test_chatgpt_is_read_along_its_current_branch(content: object) -> None:
    reading = read(content, "conversations.json")
    first = reading.records[0]
    assert (first.title, first.date, first.text) == (
        "Museum talk",
        "2023-11-14T22:13:19Z",
        "2023-11-14\n\nUser: Who is this?\n\nAssistant: Marta Lindqvist.",
    )
    told = "; ".join(reading.notes)
    assert "messages of other branches (1)" in told
    assert "messages of tools (1)" in told
    assert "parts of type 'image_asset_pointer'" in told


def test_a_damaged_tree_ends() -> None:
    nodes = {
        "a": {"parent": "b", "message": CHATGPT["mapping"]["d"]["message"]},
        "b": {"parent": "a", "message": None},
    }  # type: ignore[index]
    reading = read([{"mapping": nodes, "current_node": "a"}], "a.json")
    assert reading.records[0].text == "Assistant: Marta Lindqvist."


def test_claude() -> None:
    chat = {
        "uuid": "u-1",
        "name": "Museum",
        "created_at": "2024-03-04T10:00:00.000000Z",
        "chat_messages": [
            {
                "sender": "human",
                "text": "Who?",
                "created_at": "2024-03-04T10:00:00Z",
                "attachments": [{"file_name": "a.txt"}],
            },
            {
                "sender": "assistant",
                "text": "",
                "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Marta."}],
            },
        ],
    }
    reading = read([chat], "conversations.json")
    (record,) = reading.records
    assert (record.title, record.source_id, record.date) == ("Museum", "u-1", "2024-03-04T10:00:00.000000Z")
    assert record.text == "2024-03-04\n\nUser: Who?\n\nAssistant: Marta."
    assert reading.notes == ("left out: attachments (1), parts of type 'thinking' (1)",)


ROLES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}, {"role": "assistant", "content": None, "tool_calls": [{}, {}]}, {"role": "tool", "content": "x"}, {"role": "assistant", "content": [{"type": "text", "text": "Marta."}]}]  # fmt: skip
SHARE = [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "Marta."}]


@pytest.mark.parametrize(
    ("content", "path", "text"),
    [
        (json.dumps({"messages": ROLES, "id": 7}), "a.jsonl", "System: Be brief.\n\nUser: Who?\n\nAssistant: Marta."),
        (json.dumps({"messages": ROLES}) + "\n" + json.dumps({"messages": SHARE}), "a.jsonl", "System: Be brief.\n\nUser: Who?\n\nAssistant: Marta."),
        (ROLES, "a.json", "System: Be brief.\n\nUser: Who?\n\nAssistant: Marta."),
        ({"messages": ROLES}, "a.json", "System: Be brief.\n\nUser: Who?\n\nAssistant: Marta."),
        ([{"conversations": SHARE}], "a.json", "User: Who?\n\nAssistant: Marta."),
        ({"conversations": SHARE}, "a.json", "User: Who?\n\nAssistant: Marta."),
        (json.dumps({"topics": ["roof"], "meeting_transcripts": [{"speaker": "Ada Fell", "content": "Who?"}, {"speaker": "Tom", "content": "Marta."}]}), "a.jsonl", "Ada Fell: Who?\n\nTom: Marta."),
        ([{"dialogue": [{"speaker": "Ada Fell", "text": "Who?"}, {"speaker": "Tom", "text": "Marta."}]}], "a.json", "Ada Fell: Who?\n\nTom: Marta."),
    ],
)  # fmt: skip
def test_lists_of_messages_become_lines_of_speech(content: object, path: str, text: str) -> None:
    reading = read(content, path)
    assert reading.records[0].text == text
    if ROLES[0]["content"] in text and path != "a.jsonl":  # type: ignore[operator]
        assert reading.notes == (
            "left out: messages of tools (1), messages without words (1), tool calls (2)",
        )


@pytest.mark.parametrize(
    ("content", "text", "note"),
    [
        ([{"type": "text", "text": "One."}, {"type": "image_url", "image_url": {"url": "data:,"}}, {"type": "text", "text": "Two."}], "One.\nTwo.", "parts of type 'image_url' (1)"),
        (["Plain.", "Lines."], "Plain.\nLines.", None),
        (["See ", {"type": "link", "text": "this page"}, " now."], "See this page now.", None),
        ({"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": "A "}, {"type": "text", "text": "word."}]}]}, "A word.", None),
        ({"ops": [{"insert": "A "}, {"insert": "word.", "attributes": {"bold": True}}, {"insert": "\n"}]}, "A word.\n", None),
        ([{"type": "text", "plain_text": "A ", "annotations": {}}, {"type": "text", "plain_text": "word."}], "A \nword.", None),
        ({"text": "Words.", "score": 3}, "Words.", "values of 'score' (1)"),
        ([{"type": "input_audio", "input_audio": {"data": "AAAA"}}, "Words."], "Words.", "parts of type 'input_audio' (1)"),
    ],
)  # fmt: skip
def test_parts_of_content_become_their_words(content: object, text: str, note: str | None) -> None:
    reading = read(json.dumps({"text": content, "id": 1}), "a.jsonl")
    assert [record.text for record in reading.records] == [text]
    assert reading.notes == ((f"left out: {note}",) if note else ())


SLACK = [
    {"type": "message", "user": "U1", "ts": "1672859100.0001", "thread_ts": "1672859100.0001", "text": "Did <@U2> &amp; <#C1|general> see <https://x.org|the page> or <https://y.org>?", "user_profile": {"real_name": "Hanna Brode"}},
    {"type": "message", "user": "U3", "ts": "1672859130.0001", "text": "Another matter."},
    {"type": "message", "subtype": "channel_join", "user": "U3", "ts": "1672859131.0", "text": "<@U3> has joined the channel"},
    {"type": "message", "user": "U2", "ts": "1672859160.0001", "thread_ts": "1672859100.0001", "text": "Yes <!here>.", "files": [{"name": "a.png"}]},
    {"type": "message", "subtype": "bot_message", "username": "Deploy", "ts": "1672859190.0", "text": "", "attachments": [{"title": "Build", "text": "Done."}]},
]  # fmt: skip


def test_names_of_users_are_read_where_they_can_harm_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(text: object) -> None:
        pytest.fail(f"a file of the corpus is parsed in this process: {text!r:.60}")

    (tmp_path / "users.json").write_text("[" * 100_000)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "users.json").write_text(json.dumps([{"id": "U1", "profile": {"real_name": "Ann"}}]))
    said = [{"type": "message", "ts": "1614873600.0", "user": "U1", "text": "It sank at noon."}]
    (tmp_path / "b" / "2021-03-04.json").write_text(json.dumps(said))
    monkeypatch.setattr("graphrag_dagster.kernel.documents.readers.data.chat_exports._is_user", parse)
    contents = read_corpus(tmp_path)
    assert contents.documents["text"].to_list() == ["2021-03-04\n\nAnn (16:00): It sank at noon."]
    assert contents.files.filter(path="users.json")["status"].to_list() == ["failed"]


def test_slack_with_the_names_of_its_export(tmp_path: Path) -> None:
    users = [
        {"id": "U2", "name": "marta", "profile": {"real_name": "Marta Lindqvist"}},
        {"id": "U3", "name": "tom", "real_name": "Tom Weill", "profile": {}},
    ]
    folder = tmp_path / "export" / "general"
    folder.mkdir(parents=True)
    (folder / "2023-01-04.json").write_text(json.dumps(SLACK))
    (tmp_path / "export" / "users.json").write_text(json.dumps(users))
    contents = read_corpus(tmp_path)
    (text,), (title,), (date,) = contents.documents.select("text", "title", "date").get_columns()
    assert (title, date) == ("general, 2023-01-04", "2023-01-04")
    assert text.split("\n\n") == [
        "2023-01-04",
        "Hanna Brode (19:05): Did @Marta Lindqvist & #general see the page (https://x.org) or https://y.org?",
        "Tom Weill (19:05): Another matter.",
        "Tom Weill (19:05): @Tom Weill has joined the channel",
        "Marta Lindqvist (19:06): Yes @here.",
        "Deploy (19:06): Build\nDone.",
    ]
    told = dict(contents.files.select("path", "reason").iter_rows())
    assert told["export/general/2023-01-04.json"] == "left out: attachments (1)"
    assert "names of 2 users" in told["export/users.json"]
    assert [str(day) for day in periods_of(contents.documents)["period_start"]] == ["2023-01-04"]


@pytest.mark.parametrize(
    ("content", "title", "notes"),
    [
        (
            {"guild": {"name": "Town"}, "channel": {"name": "museum"}, "messages": [
                {"id": "1", "type": "Default", "timestamp": "2023-01-04T19:05:00.1+00:00", "content": HANNA, "author": {"name": "hb", "nickname": "Hanna Brode"}, "attachments": [], "embeds": []},
                {"id": "2", "type": "Reply", "timestamp": "2023-01-04T19:06:00+00:00", "content": MARTA, "author": {"name": "Marta Lindqvist"}, "attachments": [{"fileName": "a"}]},
                {"id": "4", "type": "Default", "timestamp": "2023-01-05T08:10:00+00:00", "content": "Then we can begin.", "author": {"name": "Hanna Brode"}}]},
            "museum", ["attachments (1)"],
        ),
        (
            {"name": "Museum", "type": "private_group", "id": 1, "messages": [
                {"id": 0, "type": "service", "date": "2023-01-04T19:00:00", "actor": "Hanna Brode", "action": "create_group", "text": ""},
                {"id": 1, "type": "message", "date": "2023-01-04T19:05:00", "date_unixtime": "1672859100", "from": "Hanna Brode", "from_id": "user1", "text": ["Did ", {"type": "bold", "text": "Tomas Weill"}, " open the archive?"]},
                {"id": 2, "type": "message", "date": "2023-01-04T19:06:00", "from": "Marta Lindqvist", "text": MARTA},
                {"id": 3, "type": "message", "date": "2023-01-04T19:06:30", "from": "Marta Lindqvist", "photo": "p.jpg", "text": ""},
                {"id": 4, "type": "message", "date": "2023-01-05T08:10:00", "from": "Hanna Brode", "text": "Then we can begin."}]},
            "Museum", ["attachments (1)", "messages without words (2)"],
        ),
        (
            {"participants": [{"name": "Hanna Brode"}], "title": "Musée", "messages": [
                {"sender_name": "Hanna Brode", "timestamp_ms": 1672906200000, "content": "Then we can begin."},
                {"sender_name": "Marta Lindqvist", "timestamp_ms": 1672859160000, "content": MARTA},
                {"sender_name": "Hanna Brode", "timestamp_ms": 1672859100000, "content": HANNA}]},
            "Musée", [],
        ),
    ],
    ids=["discord", "telegram", "messenger"],
)  # fmt: skip
def test_exports_of_chats(content: object, title: str | None, notes: list[str]) -> None:
    reading = read(content, "result.json")
    assert days(reading) == [("2023-01-04", SAID), ("2023-01-05", NEXT)]
    assert reading.records[0].title == ", ".join(filter(None, (title, "2023-01-04")))
    for note in notes:
        assert note in "; ".join(reading.notes)


def test_rows_by_several_people_are_no_chat() -> None:
    rows = [
        {"author": "A", "text": "Yes.", "date": "2023-01-04T19:05:00"},
        {"author": "B", "text": "No.", "date": "2023-01-05T19:05:00"},
    ]
    assert [record.text for record in read(rows, "a.json").records] == ["Yes.", "No."]
    assert [record.text for record in read({"items": rows}, "a.json").records] == ["Yes.", "No."]


@given(st.lists(st.fixed_dictionaries({}, optional={"role": st.sampled_from(["user", "tool", "x"]), "content": st.recursive(st.none() | st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "image", "parts", "a"]), inner, max_size=3), max_leaves=6), "ts": st.none() | st.floats() | st.text(max_size=12), "tool_calls": st.none() | st.integers() | st.lists(st.none(), max_size=2)}), min_size=1, max_size=4))  # fmt: skip
def test_whatever_stands_in_a_list_of_messages_is_read(messages: list[dict[str, object]]) -> None:
    for record in read(json.dumps({"messages": messages}), "a.jsonl").records:
        assert record.text.strip()
