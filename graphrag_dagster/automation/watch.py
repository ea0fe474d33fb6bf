"""What the sensor ``corpora`` remembers of each folder between its ticks, and what follows from it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, field, replace

#: Ticks for which a folder has to be gone before its partition goes too.
GONE_TICKS = 3


@dataclass(frozen=True, slots=True)
class Seen:
    """A corpus folder as it was.

    Attributes:
        cheap: its cheap fingerprint at the last tick.
        settled: the cheap fingerprint that was last looked into; empty where none was.
        content: the fingerprint of the content then.
        requests: how many runs were requested.
        gone: for how many ticks the folder has not been there.
    """

    cheap: str = ""
    settled: str = ""
    content: str = ""
    requests: int = 0
    gone: int = 0

    @property
    def unsettled(self) -> bool:
        """Whether the folder differs from what was last looked into."""
        return self.cheap != self.settled

    def at(self, cheap: str) -> "Seen":
        """What is known at the next tick, at which the folder is there."""
        return replace(self, cheap=cheap, gone=0)

    def looked_into(self, content: str, *, requested: bool) -> "Seen":
        """What is known once the content was compared."""
        return replace(self, settled=self.cheap, content=content, requests=self.requests + requested)

    def missed(self) -> "Seen":
        """What is known at the next tick, at which the folder is not there."""
        return replace(self, gone=self.gone + 1)


@dataclass(slots=True)
class Memory:
    """All folders, as the cursor of the sensor keeps them."""

    seen: dict[str, Seen] = field(default_factory=dict)

    @classmethod
    def read(cls, cursor: str | None) -> "Memory":
        """Read a cursor; one that is of no use is as good as none."""
        try:
            return cls({name: Seen(*kept) for name, kept in json.loads(cursor or "{}").items()})
        except (ValueError, TypeError, AttributeError):
            return cls()

    def written(self) -> str:
        """The cursor."""
        return json.dumps({name: astuple(seen) for name, seen in self.seen.items()}, separators=(",", ":"))

    def observe(self, found: Mapping[str, str]) -> list[str]:
        """Take in the cheap fingerprints of a tick.

        Returns:
            the corpora that differ from what was last looked into, and were the same at the tick before:
            nobody is copying into them.
        """
        settled = []
        for name, cheap in found.items():
            before = self.seen.get(name, Seen())
            self.seen[name] = now = before.at(cheap)
            if now.unsettled and before.cheap == cheap:
                settled.append(name)
        return settled

    def missing(self, names: Iterable[str]) -> list[str]:
        """Take in which corpora have no folder at this tick; return those gone for long enough."""
        gone = []
        for name in names:
            self.seen[name] = now = self.seen.get(name, Seen()).missed()
            if now.gone >= GONE_TICKS:
                gone.append(name)
        return gone
