"""What is asked for after a reply that cannot be used, each time in the way most likely to help.

A reply is mended where it can be; then the model is told what is wrong and asked again, at most twice, and at
last it is asked afresh with a higher limit, since a reply that was cut off does not always say so. One that
says so goes to the higher limit at once.
"""

from collections.abc import Iterator
from dataclasses import replace

from graphrag_dagster.core.language.chat.port import ChatReply, ChatRequest, Message
from graphrag_dagster.core.language.chat.prompt import Prompt
from graphrag_dagster.core.language.chat.replies import NotUsable

_WITHHELD = frozenset({"refusal", "content_filter"})
#: How a reply ends that is all there is; one that was cut off may be used where it need not be whole.
_ENDED = frozenset({"stop", "length"})
_TOLD = 2
#: A limit is doubled, and raised at least to this many tokens: hidden reasoning may use up a small one.
_ROOMY = 2000
_SHOWN = 1500
#: Characters of a reply for each token of its limit, and those that every reply may have.
_MOST_PER_TOKEN, _ALWAYS = 32, 100_000


class Rungs:
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
        self._text = ""
        self._finish = ""
        self.reply = ""
        self.reason = ""

    def failed(self, reply: ChatReply, text: str, reason: str) -> None:
        """Take note of a reply that cannot be used; ``text`` is what is visible of it."""
        self._text, self._finish, self.reason = text, reply.finish_reason, reason
        longer = len(reply.text) - _ALWAYS
        self.reply = reply.text[:_ALWAYS] + (f" … ({longer:,} characters more)" if longer > 0 else "")

    def fall_back(self, refused: ChatRequest) -> bool:
        """Go back to the first limit where a request was refused for a higher one; False: it was not."""
        if refused.max_tokens == self._first.max_tokens or refused.messages != self._first.messages:
            return False
        self._limit, self._finish = self._first.max_tokens, ""
        return True

    def __iter__(self) -> Iterator[ChatRequest]:
        yield self._first
        told = again = 0
        # A refusal stays one.
        while self._finish not in _WITHHELD:
            again += 1
            cut = self._finish == "length"
            if not self._raised and (cut or told == _TOLD):
                self._raised, self._limit = True, max(2 * self._first.max_tokens, _ROOMY)
                yield replace(self._first, max_tokens=self._limit, again=again)
            # A limit that hidden reasoning used up is not a matter of words.
            elif told < _TOLD and (self._text or not cut):
                told += 1
                yield replace(self._first, messages=self._told(), max_tokens=self._limit, again=again)
            else:
                return

    def _told(self) -> tuple[Message, ...]:
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
        raise NotUsable(f"the reply has {len(reply.text):,} characters, far more than {limit:,} tokens have")
    if reply.finish_reason == "length" and (whole or not text):
        raise NotUsable(f"the reply was cut off at its limit of {limit} tokens; be briefer")
    if reply.finish_reason in _WITHHELD:
        raise NotUsable(f"the model withheld its reply ({reply.finish_reason})")
    if not text:
        raise NotUsable("the reply is empty")
    if reply.finish_reason not in _ENDED:
        raise NotUsable(
            f"the reply ended for a reason that is not known to be a good one ({reply.finish_reason})"
        )
