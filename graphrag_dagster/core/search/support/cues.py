"""Words that turn what a sentence says around: negations, opposites, hedges."""

from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

from graphrag_dagster.core.text.similarity import stem


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    """
    not no never neither nor none nobody nothing nowhere without cannot hardly barely scarcely unable
    fail failed fails failing refuse refused refuses deny denied denies lack lacked lacks cant wont didnt
    """
)
#: After a negation these take it back: not only, not until, no longer than.
NO_NEGATION = _words("only just merely until limited least less fewer more")
#: Say a direction or a bound, although they are stop words elsewhere.
MEANT = _words("more less most least before after over under above below up down against")
#: A sentence with one of these says that something may be so.
HEDGES = _words(
    """
    might possibly perhaps maybe allegedly alleged reportedly rumoured rumored supposedly presumably proposed
    suspected unconfirmed hypothetical
    """
)
#: Stand for somebody or something that was named before.
PRONOUNS = _words("he she it they him her them his hers its their theirs")

_OPPOSITES = """
    rise:fall,drop,decline,decrease,sink increase:decrease,drop,decline,fall,reduce,shrink,cut
    grow:shrink,decline,fall gain:lose,loss raise:lower,cut,reduce more:less,fewer most:least,fewest
    high:low higher:lower highest:lowest up:down upward:downward large:small larger:smaller
    largest:smallest big:small bigger:smaller biggest:smallest long:short longer:shorter
    longest:shortest old:new,young older:younger,newer oldest:youngest,newest early:late earlier:later
    earliest:latest before:after first:last begin:end start:end,stop,finish open:close,shut win:lose
    winner:loser victory:defeat accept:reject,refuse approve:reject,refuse,veto agree:disagree
    allow:forbid,ban,prohibit permit:forbid,ban,prohibit support:oppose for:against build:demolish
    create:destroy north:south east:west northern:southern eastern:western left:right inside:outside
    internal:external import:export buy:sell bought:sold hire:dismiss,fire arrive:depart,leave
    enter:leave appear:disappear male:female man:woman men:women king:queen father:mother son:daughter
    brother:sister husband:wife boy:girl true:false right:wrong safe:dangerous,unsafe legal:illegal
    guilty:innocent success:failure succeed:fail strong:weak stronger:weaker strengthen:weaken fast:slow
    faster:slower hot:cold warm:cool warmer:cooler rich:poor cheap:expensive easy:difficult,hard
    simple:complex public:private maximum:minimum positive:negative possible:impossible able:unable
    likely:unlikely present:absent include:exclude alive:dead survive:die above:below over:under
    major:minor majority:minority heavy:light heavier:lighter thick:thin wide:narrow add:remove
    connect:disconnect join:leave attack:defend love:hate remember:forget visible:invisible best:worst
    better:worse good:bad profit:loss surplus:deficit day:night morning:evening
"""


def _pairs() -> Iterator[tuple[str, str]]:
    for entry in _OPPOSITES.split():
        word, _, others = entry.partition(":")
        for other in others.split(","):
            yield stem(word), stem(other)
            yield stem(other), stem(word)


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return the stems of words that say the opposite, by stem."""
    found: dict[str, set[str]] = {}
    for one, other in _pairs():
        if one != other:
            found.setdefault(one, set()).add(other)
    return MappingProxyType({one: frozenset(others) for one, others in found.items()})
