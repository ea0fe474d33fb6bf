"""The OpenAI client, unmodified, over a real socket."""

import importlib.util
import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from graphrag_dagster.kernel.questions.context.answer import QUERIED, QUOTATIONS, Answer
from graphrag_dagster.kernel.questions.document_filters import Filters
from graphrag_dagster.service.openai.chat_messages import MarkFilter, headed, without_sources
from graphrag_dagster.service.settings import ServiceSettings
from support.served import PIECES, QUERY, ROW, SOURCE, TEXT, TRIPLE, FaultyLibrary, serving

TOKEN = secrets.token_urlsafe(24)
ASKED = [{"role": "user", "content": "Who led the Dockers Union?"}]
LISTED = TEXT + "\n\nSources:\n\n- [1] news/strike.md: “Hanna Quill led the Dockers Union.”"


@pytest.fixture
def client(library: FaultyLibrary) -> Iterator[OpenAI]:
    with serving(library, ServiceSettings(port=0, token=TOKEN, head_start_seconds=0.2)) as url:
        yield OpenAI(base_url=f"{url}/v1", api_key=TOKEN, max_retries=0)


def test_models_are_the_corpora(client: OpenAI) -> None:
    ids = [model.id for model in client.models.list()]
    assert ids[:2] == ["coast", "coast:global"]
    assert client.models.retrieve("coast:local").id == "coast:local"
    with pytest.raises(openai.NotFoundError, match="no corpus"):
        client.models.retrieve("nowhere")


def test_a_chat_is_answered_with_listed_sources(client: OpenAI, library: FaultyLibrary) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Who struck?"},
        {"role": "assistant", "content": "The dockers. [1]\n\nSources:\n\n- [1] news/strike.md"},
        {"role": "tool", "content": "nothing", "tool_call_id": "x"},
        {"role": "user", "content": [{"type": "text", "text": "Who led"}, {"type": "text", "text": "them?"}]},
    ]
    told = client.chat.completions.create(
        model="coast:local",
        messages=messages,  # type: ignore[arg-type]
        temperature=0.2,
        max_tokens=1000,
        stop=["\nObservation:"],
        tools=[{"type": "function", "function": {"name": "look_up"}}],
        tool_choice="auto",
        response_format={"type": "text"},
        n=1,
        extra_body={"session": "7", "filters": {"folders": ["news"]}},
    )
    assert library.filters == [Filters(folders=("news",))]
    assert library.asked == [("Who led\nthem?", "local", None, (("Who struck?", "The dockers. [1]"),))]
    assert told.choices[0].message.content == LISTED
    assert told.choices[0].finish_reason == "stop"
    assert told.model == "coast:local"
    assert told.usage is not None
    assert (told.usage.prompt_tokens, told.usage.completion_tokens, told.usage.total_tokens) == (70, 9, 79)


def test_what_rests_on_no_words_says_so(client: OpenAI, library: FaultyLibrary) -> None:
    bare = replace(SOURCE, number=2, title="The\nstrike", evidence=None)
    library.sources = (replace(SOURCE, kind="relationship", evidence=TRIPLE), bare)
    told = client.chat.completions.create(model="coast:local", messages=ASKED)  # type: ignore[arg-type]
    assert (told.choices[0].message.content or "").partition("Sources:\n\n")[2] == (
        "- [1] news/strike.md: Hanna Quill – Dockers Union: She led it (extracted; no words were found that name both ends)\n"
        "- [2] The strike"
    )


def test_a_query_stands_below_the_rows_and_is_no_part_of_the_next_turn(
    client: OpenAI, library: FaultyLibrary
) -> None:
    library.sources, library.query = (replace(SOURCE, kind="row", evidence=ROW),), QUERY
    told = client.chat.completions.create(model="coast:sql", messages=ASKED)  # type: ignore[arg-type]
    text = told.choices[0].message.content or ""
    assert text.partition("Sources:\n\n")[2] == (
        '- [1] corpus.documents: title strike, row –, n 2\n\n```sql\nselect 1\n-- {"entities": ["e1"]}\n```'
    )
    assert without_sources(f"{QUERIED}\n\n{text}") == TEXT


@pytest.mark.parametrize("pieces", [(), PIECES])
def test_a_chat_is_streamed(client: OpenAI, library: FaultyLibrary, pieces: tuple[str, ...]) -> None:
    library.pieces = pieces
    chunks = list(
        client.chat.completions.create(
            model="coast",
            messages=ASKED,  # type: ignore[arg-type]
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == (LISTED.replace(" [1]\n", "\n") if pieces else LISTED)
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 79
    assert len({chunk.id for chunk in chunks}) == 1
    assert library.asked[0][:2] == ("Who led the Dockers Union?", None)


@pytest.mark.parametrize("pieces", [(), PIECES, tuple(TEXT)])
@pytest.mark.parametrize(
    ("wished", "text", "finish"),
    [
        ({"max_tokens": 4}, "Hanna Quill", "length"),
        ({"max_completion_tokens": 4, "max_tokens": 900}, "Hanna Quill", "length"),
        ({"max_completion_tokens": 900}, None, "stop"),
        ({"stop": " Dockers"}, "Hanna Quill led the", "stop"),
        ({"stop": ["", "nowhere", "ll led"]}, "Hanna Qui", "stop"),
        ({"stop": ["Union. Nobody"]}, None, "stop"),
        ({"stop": [" led"], "max_tokens": 400}, "Hanna Quill", "stop"),
    ],
)
def test_a_reply_ends_where_the_request_says(
    client: OpenAI,
    library: FaultyLibrary,
    pieces: tuple[str, ...],
    wished: dict[str, Any],
    text: str | None,
    finish: str,
) -> None:
    library.pieces = pieces
    asks: dict[str, Any] = {"model": "coast", "messages": ASKED, **wished}
    told = client.chat.completions.create(**asks).choices[0]
    assert (told.message.content, told.finish_reason) == (LISTED if text is None else text, finish)
    chunks = [one.choices[0] for one in client.chat.completions.create(**asks, stream=True)]
    streamed = "".join(one.delta.content or "" for one in chunks)
    if text is None:
        assert streamed.endswith(LISTED.partition("\n\n")[2])
    else:
        assert streamed == text
    assert chunks[-1].finish_reason == finish


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n", 2),
        ("n", 0),
        ("max_tokens", 0),
        ("max_completion_tokens", -1),
        ("response_format", {"type": "json_object"}),
        ("response_format", {"type": "json_schema", "json_schema": {"name": "a", "schema": {}}}),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "function", "function": {"name": "look_up"}}),
        ("stop", ["a"] * 17),
        ("stop", "a" * 1001),
        ("function_call", {"name": "look_up"}),
        ("logprobs", True),
        ("modalities", ["text", "audio"]),
    ],
)
def test_what_no_answer_can_be_is_refused_and_named(
    client: OpenAI, library: FaultyLibrary, name: str, value: Any
) -> None:
    for stream in (False, True):
        with pytest.raises(openai.BadRequestError, match=f"{name} must be") as refused:
            client.chat.completions.create(
                model="coast",
                messages=ASKED,  # type: ignore[arg-type]
                stream=stream,
                extra_body={name: value},
            )
        assert (refused.value.code, refused.value.param) == ("unsupported_parameter", name)
    assert library.asked == []


def test_routes_that_are_not_here_name_those_that_are(client: OpenAI) -> None:
    with pytest.raises(
        openai.NotFoundError, match="no route /v1/responses; there are POST /v1/chat/completions"
    ):
        client.responses.create(model="coast", input="Who led the Dockers Union?")
    with pytest.raises(openai.NotFoundError, match="/v1/chat/completions"):
        client.completions.create(model="coast", prompt="Who led the Dockers Union?")
    bare = client.with_options(base_url=str(client.base_url).removesuffix("/v1/"))
    with pytest.raises(
        openai.NotFoundError, match="set the client's base URL to this server's address and /v1"
    ):
        bare.responses.create(model="coast", input="Who?")


def test_a_request_that_quotations_cannot_meet_is_a_bad_one(coast: Path) -> None:
    with serving(None, ServiceSettings(port=0)) as url, httpx.Client(base_url=url, timeout=60) as real:
        for wished in ({"general_knowledge": True}, {"response_type": "a sonnet"}, {"method": "own-context"}):
            told = real.post("/corpora/coast/ask", json={"question": "Who led the Dockers Union?", **wished})
            assert (told.status_code, told.json()["error"]["type"]) == (400, "bad_question")
        told = real.post("/v1/embeddings", json={"model": "sentence-transformers", "input": "x"})
        assert told.status_code == 400 or importlib.util.find_spec("sentence_transformers")


def test_a_chat_that_dies_raises(client: OpenAI, library: FaultyLibrary) -> None:
    library.pieces, library.breaks_after = PIECES, 1
    stream = client.chat.completions.create(model="coast", messages=ASKED, stream=True)  # type: ignore[call-overload]
    with pytest.raises(openai.APIError, match="went away"):
        list(stream)


def test_errors_are_those_the_client_knows(client: OpenAI, library: FaultyLibrary) -> None:
    create = client.chat.completions.create
    with pytest.raises(openai.NotFoundError) as missing:
        create(model="nowhere", messages=ASKED)  # type: ignore[arg-type]
    assert missing.value.code == "corpus_not_found"
    with pytest.raises(openai.ConflictError, match="has not been indexed"):
        create(model="bare", messages=ASKED)  # type: ignore[arg-type]
    image = {"type": "image_url", "image_url": {"url": "https://pictures.example/a.png"}}
    for content in ([image], "", "x" * 4001):
        with pytest.raises(openai.BadRequestError):
            create(model="coast", messages=[{"role": "user", "content": content}])  # type: ignore[list-item]
    with pytest.raises(openai.BadRequestError, match="role 'user'"):
        create(model="coast", messages=[{"role": "system", "content": "Hi"}])
    with pytest.raises(openai.UnprocessableEntityError):
        create(model="coast", messages="Hi")  # type: ignore[arg-type]
    with pytest.raises(openai.AuthenticationError) as stranger:
        client.with_options(api_key="wrong").models.list()
    assert stranger.value.type == "authentication_error"
    assert TOKEN not in str(stranger.value)


def test_a_real_corpus_is_chatted_with(coast: Path) -> None:
    with serving(None, ServiceSettings(port=0)) as url:
        client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        assert "coast" in [model.id for model in client.models.list()]
        for stream in (False, True):
            told = client.chat.completions.create(model="coast:local", messages=ASKED, stream=stream)  # type: ignore[call-overload]
            if stream:
                text = "".join(chunk.choices[0].delta.content or "" for chunk in told)
            else:
                text = told.choices[0].message.content
            assert "Hanna Quill" in text
            assert "\n\nSources:\n\n- [1] " in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("It is so. [Data: Reports (1, 2)] And so.", "It is so. And so."),
        ("An [aside] and [Date: 1998] stay [D", "An [aside] and [Date: 1998] stay [D"),
        ("Blanks  stay \n here ", "Blanks  stay \n here "),
        ("cut [Data: Reports (1", "cut"),
        ("[Data: " + "x" * 600, "[Data: " + "x" * 600),
    ],
)
def test_marks_are_taken_out_however_the_text_is_cut(text: str, shown: str) -> None:
    for size in (1, 2, 3, 7, len(text)):
        marks = MarkFilter()
        pieces = [marks.feed(text[i : i + size]) for i in range(0, len(text), size)]
        assert "".join(pieces) + marks.rest() == shown


def test_an_extractive_answer_says_that_it_quotes_and_that_is_no_part_of_what_was_said() -> None:
    answer = Answer("Who?", "local", None, "The dockers. [1]", "extractive")
    shown = headed(answer)
    assert shown == f"{QUOTATIONS}\n\nThe dockers. [1]"
    assert without_sources(f"{shown}\n\nSources:\n\n- [1] a.md") == "The dockers. [1]"
    assert headed(replace(answer, refused=True)) == headed(replace(answer, engine="llm")) == answer.text
