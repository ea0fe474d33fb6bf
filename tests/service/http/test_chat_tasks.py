"""Tasks that chat pages set beside questions, in the words of their own prompts."""

import json
import secrets
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from openai import OpenAI

from graphrag_dagster.service.error_responses import Refusal
from graphrag_dagster.service.openai.chat_messages import ChatMessage
from graphrag_dagster.service.openai.chat_tasks import task_reply
from graphrag_dagster.service.settings import ServiceSettings
from support.served import FaultyLibrary, serving

ANSWER = (
    "Hanna Quill led the Dockers Union; Mira Holt was its treasurer. [1]\n\nSources:\n\n- [1] news/strike.md"
)
CHAT = f"USER: Who led the Dockers Union?\nASSISTANT: {ANSWER}"


def of_open_webui(task: str, output: str = "") -> str:
    return (
        f"### Task:\n{task}\n### Guidelines:\n- Keep it clear.\n### Output:\n{output}\n"
        f"### Chat History:\n<chat_history>\n{CHAT}\n</chat_history>"
    )


TITLE = of_open_webui(
    "Generate a concise, 3-5 word title with an emoji summarizing the chat history.",
    'JSON format: { "title": "your concise title here" }',
)
TAGS = of_open_webui(
    "Generate 1-3 broad tags categorizing the main themes of the chat history, along with 1-3 more specific "
    "subtopic tags.",
    'JSON format: { "tags": ["tag1", "tag2", "tag3"] }',
)
FOLLOW_UPS = of_open_webui(
    "Suggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next in this "
    "conversation as a **user**, based on the chat history, to help continue or deepen the discussion.",
    'JSON format: { "follow_ups": ["Question 1?", "Question 2?", "Question 3?"] }',
)
QUERIES = of_open_webui(
    "Analyze the chat history to determine the necessity of generating search queries, in the given language.",
    '{ "queries": ["query1", "query2"] }',
)


def asked(*messages: str | tuple[str, str], form: Any = None) -> str | None:
    told = [("user", one) if isinstance(one, str) else one for one in messages]
    return task_reply([ChatMessage(role=role, content=text) for role, text in told], form)


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (TITLE, {"title": "Who led the Dockers Union"}),
        (TITLE.replace(" with an emoji", ""), {"title": "Who led the Dockers Union"}),
        (QUERIES, {"queries": ["Who led the Dockers Union?"]}),
        (TAGS, {"tags": ["Who led the Dockers Union"]}),
        (FOLLOW_UPS, {"follow_ups": []}),
        (
            of_open_webui("You are an autocompletion system. Continue the text.", '{ "text": "x" }'),
            {"text": ""},
        ),
    ],
)
def test_tasks_of_open_webui_are_answered_in_their_form(prompt: str, reply: dict[str, Any]) -> None:
    assert json.loads(asked(prompt) or "") == reply


@pytest.mark.parametrize(
    "messages",
    [
        # LibreChat
        [
            "Provide a concise, 5-word-or-less title for the conversation, using title case conventions. Only "
            f"return the title itself.\n\nConversation:\nUser: Who led the Dockers Union?\nAI: {ANSWER}"
        ],
        [
            "Please generate a concise, 5-word-or-less title for the conversation, using its same language, with "
            'no punctuation.\n\n||>User: "Who led the Dockers Union?"\n||>Response: "Hanna Quill."\n\n||>Title:'
        ],
        [
            "Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise "
            "title in the detected language (5 words or less, no punctuation or quotation)\n\n"
            f"User: Who led the Dockers Union?\nAI: {ANSWER}"
        ],
        # LobeChat
        [
            (
                "system",
                "You are a professional conversation summarizer. Generate a concise title that captures the "
                "essence of the conversation.\n\nRules:\n- Output ONLY the title text\n- Maximum 10 words",
            ),
            f"user: Who led the Dockers Union?\nassistant: {ANSWER}",
        ],
        # NextChat
        [
            "Who led the Dockers Union?",
            ("assistant", ANSWER),
            "Please generate a four to five word title summarizing our conversation without any lead-in, "
            "punctuation, quotation marks, periods, symbols, bold text, or additional text.",
        ],
        # Chatbox
        [
            "Based on the chat history, give this conversation a name.\nKeep it short - 40 characters max, no "
            "quotes.\nHere is the conversation:\nuser: Who led the Dockers Union?\nassistant: Hanna Quill."
        ],
    ],
)
def test_titles_of_other_pages_are_plain_text(messages: list[Any]) -> None:
    assert asked(*messages) == "Who led the Dockers Union"


def test_a_title_in_a_form_that_the_request_names_is_json() -> None:
    schema = {"properties": {"title": {"type": "string"}}}
    form = {"type": "json_schema", "json_schema": {"name": "title", "schema": schema}}
    prompt = "Provide a concise title for the conversation.\n\nUser: Who led the Dockers Union?\nAI: Hanna."
    assert json.loads(asked(prompt, form=form) or "") == {"title": "Who led the Dockers Union"}


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("谁领导了码头工人工会？", "谁领导了码头工人工会"),
        (
            "Could you please tell me what happened at the quay in the winter of 1998?",
            "Could you please tell me",
        ),
        ("Wer leitete die Gewerkschaft der Hafenarbeiter?", "Wer leitete die Gewerkschaft der"),
        ("???", "Chat"),
        ("Why?", "Why"),
    ],
)
def test_a_title_is_made_of_the_words_of_the_question(question: str, title: str) -> None:
    assert json.loads(asked(TITLE.replace("Who led the Dockers Union?", question)) or "") == {"title": title}


@pytest.mark.parametrize(
    "messages",
    [
        ["Who led the Dockers Union?"],
        ["What is the title of the chat page in the manual?"],
        ["Give me the name of the person who started the chat in five words."],
        ["Summarize the conversation between Ann and Bo on the topic of the quay in 100 words."],
        ["Which tags and follow-up questions does the manual name?"],
        ["Can you generate a concise title for my essay?"],
        [("system", "Generate a short title above each answer of this conversation."), "Who led the union?"],
        ["### Task: list\nWhat did the council decide?"],
        ["Summarize the discussion of the council about the quay in 200 words or less."],
        [
            "Who took part?",
            ("assistant", ANSWER),
            "What was the dispute?",
            ("system", "Summarize your answer to the question."),
        ],
        [
            "### Task:\nRespond to the user query using the provided context.\n<context>Quay</context>\nWho built it?"
        ],
        [("assistant", "Hello.")],
    ],
)
def test_questions_are_no_tasks(messages: list[Any]) -> None:
    assert asked(*messages) is None


@pytest.mark.parametrize(
    "messages",
    [
        # Open WebUI
        [of_open_webui("Rewrite the memories of the user.")],
        [f"### Task:\nSummarize the chat so far.\n### Chat History:\n{CHAT}"],
        ["You have been provided with a set of responses from various models to the latest user query."],
        # LobeChat
        [
            ("system", "You are good at summarizing what stands in the <chat_history> </chat_history> tags."),
            f"<chat_history>\n<user>Who led the Dockers Union?</user>\n<assistant>{ANSWER}</assistant>\n"
            "</chat_history>\n\nPlease summarize the above conversation in 400 tokens.",
        ],
        # NextChat
        [
            "Who led the Dockers Union?",
            ("assistant", ANSWER),
            (
                "system",
                "Summarize the discussion briefly in 200 words or less to use as a prompt for future context.",
            ),
        ],
        # LangChain
        [
            "Given the following conversation and a follow up question, rephrase the follow up question to be a "
            f"standalone question.\n\nChat History:\nHuman: Who led the union?\nAssistant: {ANSWER}\n"
            "Follow Up Input: And who paid it?\nStandalone question:"
        ],
        # LibreChat
        [
            "Summarize the conversation by integrating new lines into the current summary.\n\nNew lines:\n"
            f"User: Who led the Dockers Union?\nAI: {ANSWER}"
        ],
    ],
)
def test_a_task_that_nobody_knows_is_refused(messages: list[Any]) -> None:
    with pytest.raises(Refusal, match="choose another model for tasks") as refused:
        asked(*messages)
    assert refused.value.status == 400


@pytest.fixture
def client(library: FaultyLibrary) -> Iterator[OpenAI]:
    token = secrets.token_urlsafe(24)
    with serving(library, ServiceSettings(port=0, token=token, head_start_seconds=0.2)) as url:
        yield OpenAI(base_url=f"{url}/v1", api_key=token, max_retries=0)


def test_a_task_over_the_socket_asks_no_corpus(client: OpenAI, library: FaultyLibrary) -> None:
    asks: dict[str, Any] = {"model": "coast", "messages": [{"role": "user", "content": TITLE}]}
    told = client.chat.completions.create(**asks)
    assert json.loads(told.choices[0].message.content or "") == {"title": "Who led the Dockers Union"}
    events = list(client.chat.completions.create(**asks, stream=True))
    text = "".join(one.choices[0].delta.content or "" for one in events if one.choices)
    assert json.loads(text) == {"title": "Who led the Dockers Union"}
    assert events[-1].choices[0].finish_reason == "stop"
    assert library.asked == []
    with pytest.raises(openai.NotFoundError, match="no corpus"):
        client.chat.completions.create(**{**asks, "model": "nowhere"})
