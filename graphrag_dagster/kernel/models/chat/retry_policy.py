"""What is asked after an unusable reply, and which replies are incomplete.

Four attempts in all. The request is repeated unchanged, which is enough if the reply was damaged in transit
or by chance; then the model is told what is wrong; at last it is asked afresh with a higher limit, since a
reply that was cut off does not always say so. One that says so is given the higher limit at once, which is no
attempt at another reply and does not count.
"""

from dataclasses import dataclass, replace

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.reply_parsing import CutOff, NotUsable
from graphrag_dagster.kernel.text.prompt_templates import Prompt

#: How often a request is sent until a reply can be used.
ATTEMPTS = 4
#: The attempt at which the model is told what was wrong.
_TOLD = 2
WITHHELD = frozenset({"refusal", "content_filter"})
#: How a reply ends that is all there is; one that was cut off may be used where it need not be whole.
_ENDED = frozenset({"stop", "length"})
#: A limit is doubled, and raised at least to this many tokens: hidden reasoning may use up a small one.
_ROOMY = 2000
_SHOWN = 1500
#: Fewer tokens than these are no reasoning.
_FEW = 50
#: How a reply ends whose call was ended because it repeated itself.
REPETITION = "repetition"
#: Characters of a reply for each token of its limit, and those that every reply may have.
_MOST_PER_TOKEN, ALWAYS_SHOWN = 32, 100_000


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """An attempt whose reply cannot be used: ``text`` is what was visible of it, ``reason`` why."""

    reply: ChatReply
    text: str
    reason: str

    @property
    def cut(self) -> bool:
        """Whether the reply says that it was cut off."""
        return self.reply.finish_reason == "length"


def next_request(
    first: ChatRequest, retry: Prompt, failed: FailedAttempt, number: int, limit: int
) -> ChatRequest:
    """Return the request of an attempt after the first.

    Args:
        first: the first request.
        retry: prompt with the placeholder ``reason``.
        failed: the attempt before.
        number: of the attempt, from 1.
        limit: tokens of the reply.
    """
    asked = replace(first, max_tokens=limit, again=number)
    # A limit that hidden reasoning used up is not a matter of words.
    if number != _TOLD or (failed.cut and not failed.text):
        return asked
    # Served chat templates want the roles to alternate and no turn to be empty.
    shown = failed.text if len(failed.text) <= _SHOWN else failed.text[:_SHOWN] + " …"
    told = (Message("assistant", shown or "(no reply)"), Message("user", retry.render(reason=failed.reason)))
    return replace(asked, messages=(*first.messages, *told), first=first)


def raised_limit(first: ChatRequest) -> int:
    """Return the higher limit of a reply that the usual one cuts off."""
    return max(2 * first.max_tokens, _ROOMY)


def is_endless(reply: ChatReply, limit: int) -> bool:
    """Whether a reply has far more characters than its limit of tokens could have."""
    return len(reply.text) > max(_MOST_PER_TOKEN * limit, ALWAYS_SHOWN)


def check_complete(reply: ChatReply, text: str, limit: int, whole: bool) -> None:
    """Refuse what is no complete reply; ``text`` is what is visible of it.

    Raises:
        NotUsable: why.
    """
    if is_endless(reply, limit):
        raise CutOff(f"the reply has {len(reply.text):,} characters, far more than {limit:,} tokens have")
    if reply.finish_reason == "length" and not text:
        raise CutOff(_truncation_reason(reply, limit))
    if reply.finish_reason == "length" and whole:
        raise CutOff(f"the reply was cut off at its limit of {limit} tokens; be briefer")
    if reply.finish_reason == REPETITION:
        raise CutOff("the reply repeated itself and was ended; give each record once, then stop")
    if reply.finish_reason in WITHHELD:
        raise NotUsable(f"the model withheld its reply ({reply.finish_reason})")
    if not text:
        raise NotUsable("the reply is empty")
    if reply.finish_reason not in _ENDED:
        raise NotUsable(
            f"the reply ended for a reason that is not known to be a good one ({reply.finish_reason})"
        )


def _truncation_reason(reply: ChatReply, limit: int) -> str:
    """Why a reply that was cut off says nothing."""
    if reply.text.strip() or not 0 < reply.output_tokens < min(_FEW, limit):
        return (
            f"hidden reasoning used up the limit of {limit} tokens before the reply began; set "
            "model.max_output_tokens higher, or model.reasoning: off if the server can disable it, or "
            "choose a model that does not reason"
        )
    return (
        f"the reply ended after {reply.output_tokens} of {limit} tokens without a word: the prompt leaves no "
        "room in the model's context; serve it with a larger one, or set smaller text_units.size, "
        "reports.context_tokens and search.context_tokens"
    )
