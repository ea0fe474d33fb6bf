"""Queries by the thousand: valid ones and attacks, changed and put together at random."""

import re
from collections.abc import Iterator
from random import Random

from support.cypher_queries import ALLOWED, REFUSED

_WORD = re.compile(r"'[^']*'|\w+|\s+|.", re.DOTALL)
_PIECES = (
    *("CREATE", "SET n.a = 1", "DELETE", "MERGE", "REMOVE", "CALL", "LOAD CSV FROM '/etc/passwd' AS r", "COPY", ";", "//"),
    *("/*", "*/", "\\u0027", "'", '"', "`", "``", "$p", "{", "}", "(", ")", "[", "]", "..", "*", "*1..9", "-", "->", "<-", "="),
    *("UNION", "RETURN", "MATCH", "WITH", "WHERE", "LIMIT 99999", "SKIP 1", "null", "NaN", "1e308", "\x00", "\u202e", "é", "𝛼"),
    *("EXISTS {", "COUNT {", "TO 'x'", "FROM 'x'", "(file_format='csv')", "CREATE (m)", "IMPORT DATABASE 'x'", "\n", "\ufeff"),
)  # fmt: skip


def fuzzed(number: int, seed: int) -> Iterator[str]:
    """Yield that many queries."""
    random = Random(seed)
    every = (*ALLOWED * 8, *REFUSED)
    for _ in range(number):
        words = _WORD.findall(random.choice(every))
        for _ in range(random.randrange(4)):
            words = _changed(words, random, every)
        yield "".join(words)


def _changed(words: list[str], random: Random, every: tuple[str, ...]) -> list[str]:
    place, other = (random.randrange(len(words) + 1) for _ in range(2))
    match random.randrange(6):
        case 0:
            return words[:place] + words[place + 1 :]
        case 1:
            return [*words[:place], " ", random.choice(_PIECES), " ", *words[place:]]
        case 2:
            return words[: min(place, other)] + words[max(place, other) :]
        case 3:
            return words[:place] + _WORD.findall(random.choice(every))[other:]
        case 4:
            return [one.swapcase() if random.random() < 0.3 else one for one in words]
    return [*words, " ", *_WORD.findall(random.choice(every))]
