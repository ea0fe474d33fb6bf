"""The retry policy after an unusable reply: each retry is the one most likely to help.

A reply is repaired if possible. Otherwise the request is repeated unchanged, which is enough if the reply was
damaged in transit or by chance. It is repeated a second time if the reply differed; one that came back the
same always will. Only then is the model told what is wrong, and finally it is asked afresh with a higher
limit, since a reply that was cut off does not always say so. One that says so is requested again with the
higher limit at once.
"""

from collections.abc import Iterator
from dataclasses import replace

from graphrag_dagster.kernel.models.chat.chat_model import ChatReply, ChatRequest, Message
from graphrag_dagster.kernel.models.chat.repeating_replies import is_repetitive
from graphrag_dagster.kernel.models.chat.reply_parsing import CutOff, NotUsable
from graphrag_dagster.kernel.text.prompt_templates import Prompt

_WITHHELD = frozenset({"refusal", "content_filter"})
#: How a reply ends that is all there is; one that was cut off may be used where it need not be whole.
_ENDED = frozenset({"stop", "length"})
#: How often the same is asked again, and the model told, together; it is told once at least.
_AGAIN = 2
#: A limit is doubled, and raised at least to this many tokens: hidden reasoning may use up a small one.
_ROOMY = 2000
_SHOWN = 1500
#: Fewer tokens than these are no reasoning.
_FEW = 50
#: How a reply ends whose call was ended because it repeated itself.
REPETITION = "repetition"
#: Characters of a reply for each token of its limit, and those that every reply may have.
_MOST_PER_TOKEN, _ALWAYS = 32, 100_000


class RetrySequence:
    """The requests to make, one after the other, until one is answered well.

    Args:
        request: the first of them.
        retry: prompt with the placeholder ``reason``.
    """

    def __init__(self, request: ChatRequest, retry: Prompt) -> None:
        self._first = request
        self._retry = retry
        self._limit = request.max_tokens
        self._raised = False
        self._before: str | None = None
        self._text = ""
        self._finish = ""
        self.reply = ""
        self.reason = ""

    def record_failure(self, reply: ChatReply, text: str, reason: str) -> None:
        """Take note of a reply that cannot be used; ``text`` is what is visible of it."""
        self._before, self._text = self._text if self.reason else None, text
        self._finish, self.reason = reply.finish_reason, reason
        longer = len(reply.text) - _ALWAYS
        self.reply = reply.text[:_ALWAYS] + (f" … ({longer:,} characters more)" if longer > 0 else "")

    def fall_back(self, refused: ChatRequest) -> bool:
        """Go back to the first limit where a request was refused for a higher one; False: it was not."""
        if refused.max_tokens == self._first.max_tokens or refused.messages != self._first.messages:
            return False
        self._limit, self._finish, self._before = self._first.max_tokens, "", self._text
        return True

    @property
    def runs_on(self) -> bool:
        """Whether more room is not likely to give the last reply, which was cut off, an end."""
        return self._finish == REPETITION or (
            self._finish == "length" and (self._raised or is_repetitive(self._text))
        )

    def __iter__(self) -> Iterator[ChatRequest]:
        yield self._first
        repeated = told = again = 0
        # A refusal stays one.
        while self._finish not in _WITHHELD:
            again += 1
            cut = self._finish == "length"
            repeat = not cut and not told and repeated < _AGAIN and self._text != self._before
            # A limit that hidden reasoning used up is not a matter of words.
            tell = (not told or repeated + told < _AGAIN) and bool(self._text or not cut)
            if not self._raised and (cut or not (repeat or tell)):
                self._raised, self._limit = True, max(2 * self._first.max_tokens, _ROOMY)
                yield replace(self._first, max_tokens=self._limit, again=again)
            elif repeat:
                repeated += 1
                yield replace(self._first, max_tokens=self._limit, again=again)
            elif tell:
                told += 1
                yield replace(
                    self._first,
                    messages=self._retry_messages(),
                    max_tokens=self._limit,
                    again=again,
                    first=self._first,
                )
            else:
                return

    def _retry_messages(self) -> tuple[Message, ...]:
        # Served chat templates want the roles to alternate and no turn to be empty.
        shown = self._text if len(self._text) <= _SHOWN else self._text[:_SHOWN] + " …"
        return (
            *self._first.messages,
            Message("assistant", shown or "(no reply)"),
            Message("user", self._retry.render(reason=self.reason)),
        )


def is_endless(reply: ChatReply, limit: int) -> bool:
    """Whether a reply has far more characters than its limit of tokens could have."""
    return len(reply.text) > max(_MOST_PER_TOKEN * limit, _ALWAYS)


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
    if reply.finish_reason in _WITHHELD:
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
