"""Words around names: titles, words that are never a name, verbs that tell who acts, given names."""

from typing import Final

from graphrag_dagster.engines.extractive.parsing.type_lexicon import KINDS, PEOPLE
from graphrag_dagster.kernel.text.english_words import word_set

#: Titles that are never part of a name.
TITLES: Final = word_set(
    """
    capt captain cllr col colonel corporal councillor cpl dame doctor dr frau herr hon lieutenant lt
    madam madame messrs miss mister monsieur mr mrs ms mx prof professor rev reverend sergeant señor
    señora sgt sir
    """
)
#: Titles that also begin names of other things ("General Electric", "Justice Department").
POSSIBLE_TITLES: Final = word_set(
    """
    admiral ambassador archbishop aunt author bishop brother cardinal chair chairman chairwoman
    chancellor chief coach commander commissioner commodore congressman congresswoman constable
    coxswain deputy detective director editor engineer executive father former founder general
    governor host inspector judge justice major master mayor minister nurse officer pope president
    prime provost representative secretary senator sheriff sister skipper superintendent uncle vice
    """
)
#: Roles that stand before names and never belong to them.
ROLES: Final = word_set(
    """
    ceo cfo chairman cio co-founder cofounder coo cto evp ex-president svp vp
    """
)
MALE_TITLES: Final = word_set(
    """
    herr mister monsieur mr señor sir
    """
)
FEMALE_TITLES: Final = word_set(
    """
    dame frau madam madame miss mrs ms señora
    """
)
#: Verbs whose subject is a person as a rule.
SPEECH: Final = word_set(
    """
    added adds admitted answered answers argued argues asked asks ate believed believes born cried
    denied died drank exclaimed explained explains felt heard hoped insisted knew laughed lived
    lives looked married nodded rang recalled remarked remembered remembers replied replies retired
    said sang sat saw say says shouted sighed slept smiled spent spoke stared stood studied
    telephoned tells testified thinks thought told turned walked wept whispered wished writes wrote
    """
)
#: Verbs whose object is a person as a rule.
ADDRESSED: Final = word_set(
    """
    ask asked married met persuaded telephoned tell thank thanked told
    """
)
#: Verbs whose object is an organisation as a rule.
FOUNDED: Final = word_set(
    """
    founded co-founded cofounded established acquired incorporated dissolved joined chairs chaired
    liquidated nationalised nationalized merged
    """
)
#: Verbs whose object is a product as a rule, and prepositions.
USED: Final = word_set(
    """
    compile compiled configure configured configuring debug deploy deployed deploying download
    downloaded downloading install installed installing reinstall run running uninstall upgrade
    upgraded upgrading use used uses using
    """
)
USED_BY_WAY_OF: Final = word_set("via using atop")
#: What people, and what bodies, as a rule are said to have done ("directed by", "published by").
BY_PEOPLE: Final = word_set(
    """
    authored choreographed coached composed conducted co-written cowritten designed directed edited
    fathered hosted illustrated invented narrated painted penned performed photographed played portrayed
    presented sculpted starred sung translated voiced written
    """
)
BY_BODIES: Final = word_set(
    """
    acquired aired administered broadcast commissioned developed distributed funded issued maintained
    managed manufactured marketed operated organised organized owned published released sponsored
    """
)
SAILS: Final = word_set(
    """
    anchored berthed capsized docked drifted drifting drifts foundered grounded moored sail sailed
    sailing sails sank steamed
    """
)
SAILED: Final = word_set(
    """
    aboard berthed boarded chartered moor moored skippered tow towed towing
    """
)
PLACING: Final = word_set(
    """
    across around in inside into near off outside throughout toward towards
    """
)
#: Nouns and directions whose "of" a place follows ("the town of X", "north of Y").
PLACES_OF: Final = word_set(
    """
    cities city county district east island isle north northeast northwest port province settlement south
    southeast southwest strait suburb suburbs town towns village villages west
    """
)
#: Nouns that a name stands before as that of a place ("the Olza river").
PLACES_AFTER: Final = word_set(
    """
    barracks basin coast counties county district island islands mountain mountains neighborhood
    neighborhoods neighbourhood neighbourhoods peninsula province region river rivers suburb town valley
    village
    """
)
#: Days and months, without those that are names and verbs as well.
CALENDAR: Final = word_set(
    """
    apr april aug august dec december feb february fri friday jan january jul july jun june mon
    monday nov november oct october saturday sep sept september sunday thu thur thurs thursday tue
    tues tuesday wed wednesday
    """
)
#: Words that alone, or with each other, are no name.
NOT_NAMES: Final = word_set(
    """
    a.m. absolutely abstract acknowledgements acknowledgments ad ah alas am amen answer appendix
    applause apr april aug august author awesome ba background bah bc bcc bce bravo bsc cc cd ce
    ceo cfo chapter cheers christ co. conclusion contents coo cool crosstalk cto dad date day days
    dec december default defaults dr dvd east eastern eight english episode etc eur exactly faq
    feb february fig figure first five former four fourth fri friday from gbp god gosh great ha
    hallo he heaven hello her hey hi his html http https hullo hurrah hush i id inaudible inc
    internet introduction it item its jan january jul july jun june language last laughter lord
    ltd m.d. ma madam mar march may maybe mba md mom mon monday month mr mrs ms msc mum music my
    nay new next nine no north northern note notes nov november oct october oh ok okay old one our
    p.m. page pages part pc pdf perhaps ph.d phd please pm pooh q q&a qa question re references
    right sat saturday second section sep sept september seven she sir six sorry south southern
    step subject summary sun sunday sure table ten thank thankee thanks that the their these they
    third this those three thu thur thurs thursday time title to transcript tue tues tuesday tv
    two url us usd vol volume vp we web wed wednesday week welcome well west western wow www yeah
    year yes yo you
    """
)
#: Words that languages of programs and requests write in capitals; units of measure.
KEYWORDS: Final = word_set(
    """
    AND CONNECT COUNT CREATE DELETE FALSE FROM GB GET GHz GROUP HEAD INSERT JOIN KB KEY MB MHz NOT
    NULL None OPTIONS OR ORDER PATCH POST PRIMARY PUT SELECT SET TABLE TB TEXT TODO TRACE TRUE
    UPDATE VALUES WHERE True False
    """
)
#: What headings and steps tell one to do, before a name ("Install Node.js").
INSTRUCTIONS: Final = word_set(
    """
    add adding build building configure configuring connect connecting create creating customize
    customizing debugging deploy deploying disable disabling download downloading enable enabling
    import importing install installing integrating introducing migrating mounting run running
    serving setup start starting upgrade upgrading use using
    """
)
#: Words that never begin a name, though sentences begin with them.
NEVER_FIRST: Final = word_set(
    """
    a about above after again all also an and any as at because before below between both but by
    during each either even every for from he her here him his how i if in into it its just like
    many me more most my neither no nor not of on once only or other our over several she since so some such
    than that the their them then there these they this those through to under until up us we well
    what when where which while who why with within without yet you your
    """
)
#: Words before names of people and holidays ("Old Joe", "Merry Christmas").
EPITHETS: Final = word_set(
    """
    dead dear good great happy late little merry old poor young
    """
)
#: Words after "the" that end names of people ("Ivan the Terrible").
EPITHETS_AFTER: Final = word_set(
    "apostle baptist bold conqueror confessor elder evangelist great terrible wise younger"
)
#: Words that only together with others make a name: "the Council" is none.
GENERIC: Final = word_set(
    """
    state states nation national international world people internal external annual general
    senior junior special joint main central public royal federal grand chief executive high day
    technology science business history project program department division unit office data
    information code command configuration default documentation quickstart request response
    settings tech version
    """
).union(KINDS, NOT_NAMES, TITLES, POSSIBLE_TITLES, NEVER_FIRST)
#: Words that make an office of the noun that follows ("Senior Cloud Advocate").
RANKS: Final = word_set("senior junior chief vice executive principal deputy assistant head lead managing")
OFFICES: Final = PEOPLE | POSSIBLE_TITLES
#: Names made of these alone name an office, not who holds it ("Chief Engineer").
ROLE_WORDS: Final = OFFICES | NOT_NAMES | TITLES | {"of", "and", "the"}
#: Given names that tell whether "Mrs X" can be the person whose full name is known.
MALE_NAMES: Final = word_set(
    """
    adam alan albert alexander alfred andrew anthony arthur ben benjamin bill bob brian charles
    chris christopher daniel dave david donald ebenezer edward eric ernest francis frank fred
    frederick george gordon graham harold harry henry herbert hugh ian jack jacob james jeff jeremy
    jim joe john jonathan joseph kenneth kevin mark martin matthew michael mike nicholas oliver
    oscar patrick paul peter philip ralph raymond richard robert roger ronald roy sam samuel scott
    sidney simon stanley stephen steve steven stuart ted thomas tim timothy tom tony victor walter
    william
    """
)
FEMALE_NAMES: Final = word_set(
    """
    ada agnes alice alison amanda amy andrea angela ann anna anne barbara beatrice betty carol
    caroline catherine charlotte christine clara deborah diana dorothy edith eleanor elizabeth ella
    ellen emily emma ethel eva eve fiona florence frances grace hannah harriet hazel helen irene
    jane janet jean jennifer jessica joan judith julia julie karen kate katherine kathleen laura
    linda lisa louise lucy margaret maria marie marion martha mary maud melinda michelle nancy
    nicola olivia pamela patricia rachel rebecca rose ruth sally sandra sarah sharon sheila sophia
    sophie stella susan sylvia theresa tracy ursula victoria virginia wendy yvonne
    """
)


def is_capital(word: str) -> bool:
    """Whether a word begins with a capital, or with one soon after (iPhone)."""
    head = word[:3]
    return word[:1].isalpha() and head != head.lower() and word != "I"
