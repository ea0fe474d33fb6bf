import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.endpoint import ScriptedEndpoint
from support.rate_rules import RateRules, duration
from support.short_ways import HI, chat, client, ten_words


def raw_headers(endpoint: ScriptedEndpoint) -> dict[str, str]:
    made = client(endpoint).chat.completions.with_raw_response.create(model="scripted", messages=HI)
    return {name: value for name, value in made.headers.items() if name.startswith("x-ratelimit")}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_fills_at_the_rate_of_its_limit() -> None:
    clock = Clock()
    rules = RateRules(60, None, 0.05, clock)
    assert [rules.admit(0)[0] for _ in range(4)] == [0, 0, 0, 1]
    clock.now += 1
    assert rules.admit(0)[0] == 0
    assert rules.admit(0)[0] == pytest.approx(1)


def test_what_is_larger_than_the_bucket_passes_when_it_is_full() -> None:
    clock = Clock()
    rules = RateRules(None, 6000, 0.01, clock)
    assert rules.admit(160)[0] == 0
    assert rules.admit(10)[0] == pytest.approx(1.1)
    clock.now += 1.6
    assert rules.admit(160)[0] == 0


@given(
    st.lists(st.tuples(st.floats(0, 3), st.integers(1, 500)), max_size=60),
    st.floats(0.005, 1),
)
def test_no_more_gets_through_than_bucket_and_time_allow(
    asked: list[tuple[float, int]], burst: float
) -> None:
    clock = Clock()
    rules = RateRules(120, 6000, burst, clock)
    begin = clock.now
    passed: list[int] = []
    for pause, tokens in asked:
        clock.now += pause
        wait, headers = rules.admit(tokens)
        assert int(headers["x-ratelimit-remaining-tokens"]) <= 6000 * burst
        if wait == 0:
            passed.append(tokens)
    minutes = (clock.now - begin) / 60
    assert len(passed) <= max(120 * burst, 1) + 120 * minutes + 1e-6
    assert sum(passed[:-1]) <= 6000 * burst + 6000 * minutes + 500 + 1e-6


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (0.12, "120ms"), (6, "6s"), (63.5, "1m3.5s"), (7200, "2h0m0s"), (59.9999, "1m0s")],
)
def test_durations_are_written_as_in_headers(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_more_requests_than_allowed_are_turned_away() -> None:
    with ScriptedEndpoint(ten_words, requests_per_minute=6, burst=0.5) as endpoint:
        headers = raw_headers(endpoint)
        assert headers["x-ratelimit-limit-requests"] == "6"
        assert headers["x-ratelimit-remaining-requests"] == "2"
        assert headers["x-ratelimit-reset-requests"] == "10s"
        for _ in range(2):
            chat(endpoint)
        with pytest.raises(openai.RateLimitError) as error:
            chat(endpoint)
    assert error.value.code == "rate_limit_exceeded"
    assert 5 <= int(error.value.response.headers["Retry-After"]) <= 10
    assert error.value.response.headers["x-ratelimit-remaining-requests"] == "0"


def test_tokens_of_prompt_and_reply_count_against_the_limit() -> None:
    with ScriptedEndpoint(
        ten_words, tokens_per_minute=60, burst=0.5, retry_after=False, rate_headers=False
    ) as endpoint:
        assert raw_headers(endpoint) == {}
        with pytest.raises(openai.RateLimitError) as error:
            chat(endpoint, messages=HI * 3)
        assert "Retry-After" not in error.value.response.headers
        assert [one.status for one in endpoint.requests] == [200, 429]
