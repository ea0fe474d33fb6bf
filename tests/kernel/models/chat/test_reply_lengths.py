"""A reply that runs on without an end is cut off early, once it is known how long replies of its task are."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.endpoint.endpoint_chat import ReplyLengths
from support.endpoint import Fault, Scripted, ScriptedEndpoint

TOKENS = st.integers(1, 3000)


def request(task: str, limit: int = 4000, **more: int) -> ChatRequest:
    return ChatRequest(task, (Message("user", f"{task} {more}"),), limit, **more)


def learnt(task: str, seen: list[int], expected: int = 0) -> ReplyLengths:
    lengths = ReplyLengths()
    for tokens in seen:
        lengths.learn(request(task, expected=expected), tokens, whole=True)
        lengths.learn(request(task), 100_000, whole=False)
    return lengths


@given(st.lists(TOKENS, min_size=20, max_size=90), st.integers(1, 9000))
def test_no_limit_is_below_twice_the_longest_of_the_last_whole_replies(seen: list[int], limit: int) -> None:
    lengths = learnt("report", seen)
    assert lengths.limit(request("report", limit)) == min(limit, max(2 * max(seen[-60:]), 1000))
    assert lengths.limit(request("claims", limit)) == limit


@given(st.lists(TOKENS, max_size=19), st.integers(1, 5000))
def test_few_replies_lower_no_limit(seen: list[int], limit: int) -> None:
    assert learnt("report", seen).limit(request("report", limit)) == limit


def test_the_limit_of_a_slow_model_is_four_times_what_is_expected_until_many_replies_were_seen() -> None:
    lengths = ReplyLengths()
    assert lengths.limit(request("extract", expected=500), slow=True) == 2000
    assert lengths.limit(request("extract", expected=10), slow=True) == 1000
    lengths.learn(request("extract", expected=500), 1500, whole=True)
    # One whole reply was three times as long as expected.
    assert lengths.limit(request("extract", expected=500), slow=True) == 3000


def test_a_text_of_which_little_is_expected_has_a_limit_of_its_own() -> None:
    lengths = learnt("extract", [2400] * 30, expected=1000)
    assert lengths.limit(request("extract", expected=500)) == 2 * 2.4 * 500
    assert lengths.limit(request("extract", expected=10)) == 1000
    # No limit is raised: what is expected is a guess.
    assert lengths.limit(request("extract", expected=9000)) == 4000
    assert lengths.limit(request("extract", 9000, expected=9000)) == 2 * 2400


@given(st.lists(TOKENS, min_size=20, max_size=90), st.lists(TOKENS, min_size=20, max_size=90))
def test_continuations_have_a_limit_of_their_own(firsts: list[int], later: list[int]) -> None:
    lengths, first = learnt("extract", firsts), request("extract", 9000)
    more = replace(first, continues=True)
    assert lengths.limit(more) == 9000
    for tokens in later:
        lengths.learn(more, tokens, whole=True)
    assert lengths.limit(more) == max(2 * max(later[-60:]), 1000)
    assert lengths.limit(first) == max(2 * max(firsts[-60:]), 1000)


def test_a_runaway_is_cut_off_early_and_asked_again_with_all_the_room(model_of: Callable[..., Any]) -> None:
    def asked(number: int, again: int = 0, limit: int = 4000) -> ChatRequest:
        return ChatRequest("report", (Message("user", f"Report {number}."),), limit, again=again)

    def runs_on(number: int, _: dict[str, Any]) -> Fault | None:
        return Fault(runaway=True) if number >= 20 else None

    def reply(_: dict[str, Any]) -> Scripted:
        return Scripted("A report.", output_tokens=400)

    async def all_of(model: Any) -> list[ChatReply]:
        whole = [await model.complete(asked(number)) for number in range(20)]
        return [*whole[-1:], await model.complete(asked(20)), await model.complete(asked(20, 1, 8000))]

    with ScriptedEndpoint(reply, faults=runs_on) as endpoint:
        came = asyncio.run(all_of(model_of(endpoint)))
        limits = [chat.body["max_tokens"] for chat in endpoint.chats]
    assert limits == [*[4000] * 20, 1000, 8000]
    assert [one.finish_reason for one in came] == ["stop", "length", "length"]
