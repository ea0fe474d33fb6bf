"""Lists of English words for parsing sentences and questions."""

from collections.abc import Mapping
from types import MappingProxyType


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, separated by white space, as a set."""
    return frozenset(text.split())


def _pairs(text: str) -> Mapping[str, str]:
    return MappingProxyType(dict(pair.split(":") for pair in text.split()))


#: Words without meaning by themselves.
STOP_WORDS = word_set(
    """
    a about above after again against all also am among an and any are as at be because been before
    being below between both but by can cannot could did do does doing done down during each either
    else ever every few for from further get gets give given gives had has have having he her here
    hers herself him himself his how i if in into is it its itself just least less let like ll made
    make makes many may me might more most much must my myself neither no nor not now of off on once
    one only onto or other our ours out over own per quite rather re s same shall she should since
    so some such t than that the their theirs them themselves then there these they this those
    through thus to too under until up upon us ve very was we were what when where whether which
    while who whom whose why will with within without would yes yet you your yours yourself
    yourselves
    """
)
#: Irregular forms that a stemmer does not map to their verb.
BASE_FORMS = _pairs(
    """
    awoke:awake broke:break broken:break brought:bring built:build bought:buy caught:catch
    chose:choose chosen:choose came:come dealt:deal drew:draw drawn:draw drove:drive driven:drive
    ate:eat eaten:eat fell:fall fallen:fall fed:feed felt:feel fought:fight found:find fled:flee
    flew:fly flown:fly forbade:forbid forgot:forget froze:freeze frozen:freeze went:go gone:go
    grew:grow grown:grow heard:hear hid:hide hidden:hide held:hold kept:keep knew:know known:know
    laid:lay led:lead left:leave lent:lend lost:lose met:meet paid:pay rode:ride ridden:ride
    rose:rise risen:rise ran:run saw:see seen:see sought:seek sold:sell sent:send shook:shake
    shot:shoot sang:sing sank:sink sunk:sink sat:sit slept:sleep spoke:speak spoken:speak
    spent:spend stood:stand stole:steal stolen:steal struck:strike swore:swear sworn:swear
    swept:sweep swam:swim took:take taken:take taught:teach tore:tear torn:tear thought:think
    threw:throw thrown:throw understood:understand withdrew:withdraw withdrawn:withdraw won:win
    wore:wear worn:wear wrote:write written:write died:die death:die dead:die
    """
)
#: Verb forms that do not end in -ed; a sentence has a verb, a list of names does not.
VERBS = word_set(
    """
    is are was were be been has have had do does did will would can could may might must shall
    should am isn't wasn't weren't aren't hasn't haven't hadn't won't wouldn't can't couldn't didn't
    doesn't don't became began bent bled blew broke brought built bought came caught chose cost cut
    dealt drew drank drove ate fell fed felt fought found fled flew forbade forgot froze gave went
    grew hung heard hid held hit hurt kept knelt knew laid lay led left lent let lit lost made meant
    met paid put quit read rode rang rose ran said saw sang sank sat sent set shook shone shot
    showed shut slept slid sold sought spent spoke spread sprang stood stole struck strove swam
    swept swore swung taught took tore told thought threw understood undertook withdrew woke won
    wore wrote wound
    """
)
#: At the beginning of a sentence, words that only connect or refer to context or speaker.
DANGLING = word_set(
    """
    he she it they him them his her its their this that these those there here such both another
    neither so but and or yet then thus hence therefore however moreover also besides instead
    nevertheless meanwhile otherwise similarly consequently finally afterwards later i we you my our
    your yeah yes well okay ok oh um uh right anyway so like because now
    """
)
#: Those among them that refer to somebody or something named before.
POINTING = word_set(
    """
    he she it they him them his her its their this that these those both another it's he's she's
    they're that's it’s he’s she’s they’re that’s
    """
)
#: Words of a question that ask for an overview or an answer without saying of what.
GENERAL = word_set(
    """
    main major key important significant central big biggest theme themes topic topics subject
    subjects overview overall general summary summarise summarize outline gist describe description
    explain tell say says said know known understand actor actors player players people person
    persons entity entities organisation organisations organization organizations name names named
    corpus collection document documents data dataset text texts file files report reports article
    articles story stories record records issue issues event events thing things fact facts point
    points information content contents connected connection connections related relationship
    relationships relation relations relate happen happens happened discuss discussed mention
    mentioned appear appears recur recurring cover covered kind kinds list give find take away
    takeaway takeaways insight insights
    """
)
#: Such words, and those of the same stem, that are things where a question asks for no overview: "How do I
#: upload a file?"
THINGS = word_set("file files connect connects connecting connection connections")
#: Those among them that ask for the themes of the whole.
THEMES = word_set("theme themes topic topics subject subjects summary summarise summarize overview gist")
#: Names for a corpus in questions about its themes.
GENRES = word_set(
    """
    book books novel novels paper papers letter letters interview interviews transcript transcripts
    podcast podcasts episode episodes conversation conversations discussion discussions note notes
    email emails page pages chapter chapters material materials source sources archive archives news
    inquiry here
    """
)
#: Common words that are not themes.
COMMON = word_set(
    """
    able actual again ago amazing anybody anyone anything area areas around aspect away awesome back bad
    basic basically best better bit bunch call called came case cases certain challenge chance change
    clear close cool couple course crazy day days deal difference different difficult early easy
    effort end enough entire everybody everyone everything exact example examples exciting experience
    extent fair fantastic far fast feel feeling felt field fine first folks forward full fun future
    glad going good gonna great group guess guy guys half hand happy hard head help high hope hour hours
    huge hundred idea ideas incredible inside interest interested interesting job kid kids kinda large
    last late later left level line little live long look looking looks lot lots love low man maybe
    mean means meeting member members men million minute minutes moment month months morning myself
    need needs new next nice night nobody none number numbers okay old open opportunity order others
    part parts past percent perfect place places please possible present pretty previous probably
    problem problems process proud question questions quick reaction ready real reason reasons recent
    rest result right room role said saying second seconds sense set several short show shows side
    sides similar simple single situation small somebody someone something sometimes somewhat sort
    sorts special specific start state step still stuff super sure talk team thank thanks think third
    thought thoughts thousand three time times today together tomorrow tons top total true trying turn
    two type types used useful using various version view want wanted way ways week weeks well whole
    wonderful word words work works world worse worst wow wrong yeah year years yesterday young
    four five six seven eight nine ten twelve hello welcome conversation
    """
)
#: Words that ask for an overview of many texts: their themes, patterns and conclusions.
OVERVIEW = word_set(
    """
    theme topic overview overall overarching general generally gist main major key important significant
    central big biggest summary summarise summarize outline recurring recur common commonly typical
    typically frequent frequently often pattern trend tendency across throughout series whole everything
    various different kind type sort role lesson message insight takeaway mood stand differ develop change
    """
)
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    " seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
#: Numbers by their words.
SMALL_NUMBERS = MappingProxyType(
    {
        **{word: number for number, word in enumerate(_UNITS.split())},
        **{word: 10 * number for number, word in enumerate(_TENS.split(), start=2)},
        "dozen": 12,
    }
)
#: Words of greetings, thanks and signatures.
GREETINGS = word_set(
    """
    afternoon assistant best bot cheers day dear evening everybody everyone folks goodbye bye greetings good
    hello hey hi kind kindest kindly lot lots madam morning please regards sincerely sir team thank thanks thx
    there warm welcome wishes yours advance nice great okay ok ai chatbot
    """
)
#: Words of requests and of wishes on the form of an answer.
WISHES = word_set(
    """
    answer answers brief briefly bullet bullets concise concisely curious detail detailed details english
    explain format give help keep line lines list long paragraph paragraphs plain point points possible
    question questions quick quickly reply respond response sentence sentences short shortly simple simply
    sure table tell use using want wonder wondering word words two three four five six ten maximum first
    """
)
#: Words for many authors, speakers or texts at once.
MANY = word_set(
    """
    people guest speaker participant expert leader author document text source report article letter episode
    interview conversation discussion paper study meeting everyone everybody all every most many several
    each group stakeholder actor community organisation organization institution company
    """
)
#: Ordinary words that are also names of people and places.
PLAIN_OR_NAME = word_set(
    """
    amber angel april art august autumn baker banks bell best bill bishop black bliss bloom bob brook
    brooks brown buck bush butler carol carpenter carter chance chase chip christian clay cliff cook
    cooper crystal dale dawn day dean dick don drew duke earl early east eve faith field fisher flora
    ford forest fox frank gates gene ginger glen grace grant gray green guy hall harmony harry hazel
    heath heather hill holly honor hope hunter iris ivy jack jasmine jay jean jewel job jobs joy june
    king knight lake lance lane lark lily little long love major march mark mason max may melody
    mercy miles mill miller misty moon nick north olive page park parker pat patience patty pearl
    penny peter pierce piper poppy porter price prince rain ray read reed rich river rob robin rock
    rose ruby rusty sage sandy season shepherd sky smith snow south spring star sterling stone story
    strong sue summer sunny taylor temple time times tom tucker turner violet wade walker ward
    warren waters weaver west white will wise wolf wood woods young
    """
)
#: Words before a name that are not part of it.
FORMS_OF_ADDRESS = word_set(
    "the mr mrs ms miss dr prof professor sir dame lord lady st saint president captain"
)
#: Words after the name of a company or person that are not part of it.
LEGAL_FORMS = word_set("inc ltd limited llc plc corp corporation co company gmbh ag sa jr sr")
#: First words of sentences that do not begin with their subject.
SUBJECT_ELSEWHERE = word_set(
    """
    after although as at because before but by during for from he her his however i if in it its many
    most on one she since some such that the their there these they this those to two we when where
    while with
    """
)
#: Words of saying and thinking; the answer to a question with one of them is a stretch of talk.
SAYING = word_set(
    """
    address advice advise agree answer argue argument ask attitude belief believe claim comment concern
    conclude conclusion consider consideration criticise criticize debate decide decision describe
    disagree discuss discussion emphasise emphasize explain explanation feel introduce opinion opposition
    perspective point present propose proposal raise react reaction recommend reply respond response say
    stance state suggest suggestion summarise summarize summary talk tell think view worry
    """
)
#: Kinds of documents.
DOCUMENTS = word_set(
    """
    account accounts agenda article book brief briefing bulletin call chapter conference conversation
    decision diary discussion document edition email entry episode evidence filing file hearing interview
    issue journal lecture letter log manual meeting memo memorandum minutes newsletter note notes notice
    number paper podcast presentation proceedings record recording release report results review session
    show speech statement statements story study submission summary survey talk text transcript update
    volume
    """
)
#: Those among them that, beside a title or period, hardly mean anything else.
FILED = word_set(
    """
    agenda article briefing bulletin call chapter document edition email entry episode file hearing
    interview issue letter log meeting memo memorandum minute minutes newsletter note notes notice
    podcast proceedings report review session statement summary survey transcript update
    """
)
#: Parts of an organisation or country, beside their names.
DIVISIONS = word_set(
    """
    area bank board branch bureau chapter committee council county department desk district division
    edition fed group office panel province region section state station team unit
    """
)
#: Offices by their abbreviations.
OFFICES = MappingProxyType(
    {
        "ceo": "chief executive officer",
        "cfo": "chief financial officer",
        "coo": "chief operating officer",
        "cto": "chief technology officer",
        "cio": "chief information officer",
        "cmo": "chief marketing officer",
        "cpo": "chief product officer",
        "vp": "vice president",
        "pm": "prime minister",
        "mp": "member of parliament",
    }
)
#: What a number counts that is no year: "of 2009 employees".
COUNTED = word_set(
    """
    beds cars cases copies deaths dollars employees euros homes households houses jobs members miles
    pages patients people persons pounds rooms seats soldiers students units visitors votes words
    workers
    """
)
