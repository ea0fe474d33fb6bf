"""Languages by their function words and letters: enough for search, where a detector would be slow.

What is told here: English, German, Spanish, French, Italian, Portuguese, Dutch and Czech by words, Chinese,
Japanese and Korean by letters.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from graphrag_dagster.kernel.text.english_words import STOP_WORDS, word_set
from graphrag_dagster.kernel.text.folding import fold

ENGLISH = "en"
#: Words without meaning by themselves, of each language.
FUNCTION_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        ENGLISH: STOP_WORDS,
        "de": word_set(
            """
            aber alle als am an auch auf aus bei bis da damit dann das dass daß dem den der des die dies
            diese dieser dieses doch dort durch ein eine einem einen einer eines er es für gegen hat hatte
            hatten ich ihr ihre ihrem ihren im in ist ja kann kein keine man mehr mein mit nach nicht noch
            nur ob oder ohne schon sein seine seinem seinen seiner seit sehr sich sie sind so über um und
            uns unter vom von vor wann war waren warum was welche welchem welchen welcher welches wenn wer
            wem wen werden weil wessen wie wieso wir wird wo woher wohin womit worden wurde wurden zu zum zur
            zwischen
            """
        ),
        "es": word_set(
            """
            a al algo algunos antes así aunque aquel aquella como con contra cual cuál cuáles cuando cuándo
            cuánta cuántas cuánto cuántos de del desde donde dónde dos durante el él ella ellos en entre era
            eran es esa ese eso esta está están este esto estos fue fueron ha había han hasta hay la las le
            les lo los más me mi mientras muy no nos o para pero por porque qué que quien quién quiénes se
            sea según ser si sí sin sobre son su sus también tan te tiene tienen tu tú un una unas uno unos y
            ya yo
            """
        ),
        "fr": word_set(
            """
            a à ai ainsi alors après au aussi autre aux avait avant avec avoir c car ce cela ces cet cette
            chez combien comme comment d dans de des depuis dont du elle elles en encore entre est et étaient
            était être eu fut furent il ils j je l la le les leur leurs lorsque lui m mais même mes moi mon n
            ne nous on ont ou où par parce pas pendant plus pour pourquoi qu quand que quel quelle quelles
            quels qui quoi s sa sans se ses si son sont sous sur t tandis tous tout toute très tu un une vers
            vous y
            """
        ),
        "it": word_set(
            """
            a ad agli ai al alla alle allo anche che chi ci come con contro cosa cui da dagli dai dal dalla
            dalle degli dei del della delle dello di dopo dove e è ed era erano essere fu furono gli ha hanno
            i il in io l la le lei lo loro lui ma mentre mi molto ne nei nel nella nelle nello noi non o ogni
            per perché più poi prima qual quale quali quando quanta quanti quanto quella quello questa questo
            questi se senza si sia sono stata stato su sua sue sugli sul sulla suo suoi tra tutti un una uno
            """
        ),
        "pt": word_set(
            """
            a ainda ao aos aquela aquele as às até cada com como contra da das de dela dele depois desde do
            dos e é ela elas ele eles em entre era eram essa esse esta está este eu foi foram há isso isto já
            lhe mais mas me mesmo muito na não nas nem no nos o onde os ou para pela pelas pelo pelos por
            porque porquê qual quais quando quanta quantas quanto quantos que quê quem se sem ser seu seus só
            sobre sua suas também tem têm ter um uma uns você
            """
        ),
        "nl": word_set(
            """
            aan al als bij dan dat de der deze die dit door een en er ge geen had hadden heeft hem het hij
            hoe hoeveel hun ik in is ja je kan maar me meer met mijn na naar niet nog nu of om omdat ons ook
            op over over sinds te toen tot uit van veel voor waar waarom wanneer want waren was wat we wel
            welk welke werd werden wie wij worden wordt zei zich zij zijn zo zonder zou
            """
        ),
        "cs": word_set(
            """
            a aby ale ani až být byl byla byli bylo byly co či do jak jaká jaké jaký jako je jeho její jejich
            jen ještě již jsem jsme jsou k kam kde kdo kdy když která které který ke kolik kvůli mezi mu na
            nad ne nebo než o od po pod podle pro proč proto protože před při s se si tak také ten tento to u
            už v ve však z za ze že
            """
        ),
    }
)  # fmt: skip
#: Words that ask in other languages; those that are also names or English words are left out.
_ASKING = word_set(
    """
    kimdir kimdi kimin kime kimi nedir neydi nerede neredeydi nereye nereden nasıl niçin niye hangi
    hangisi kaç kto gdzie kiedy dlaczego jaki jaka jakie który która które ile hvem hvad hvor hvornår
    hvorfor hvordan varför vilken vilket hur när kuka missä milloin miksi mikä cine unde când hogyan hol
    mikor miért melyik кто что где когда почему зачем как какой какая какое какие чей сколько куда
    откуда хто що де коли чому ποιος ποια ποιο ποιοι τι πού πότε γιατί πώς πόσο πόσα من ما ماذا أين متى
    لماذا كيف كم هل מי מה איפה מתי למה איך כמה
    """
)
_NAMES = MappingProxyType(
    {
        ENGLISH: "English", "de": "German", "es": "Spanish", "fr": "French", "it": "Italian",
        "pt": "Portuguese", "nl": "Dutch", "cs": "Czech", "zh": "Chinese", "ja": "Japanese", "ko": "Korean",
    }
)  # fmt: skip
#: Each once, in the order in which they decide: Japanese has Chinese letters, too.
_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u3096\u30a1-\u30fa]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
)
_WORD = re.compile(r"[^\W\d_]+")
#: Words from which a text is in a language, and their least share of all.
_FEWEST, _LEAST = 2, 0.2
#: Share of English function words from which no other language is looked for.
_PLAINLY = 0.35
#: Share of letters from which a text is written in them.
_WRITTEN_IN = 0.3
_SAMPLE, _CHARACTERS = 50, 2_000


def language_of(text: str) -> str | None:
    """Return the ISO 639 code of a text's language, or None where its words do not tell.

    Another language than English is told only where it has more function words in the text than English, so
    that names in an English text change nothing.

    >>> language_of("Who led the union?"), language_of("Wer leitete die Werft?"), language_of("Holm 1901")
    ('en', 'de', None)
    """
    if not text.isascii():
        letters = sum(map(str.isalpha, text))
        for language, script in _SCRIPTS:
            if letters and len(script.findall(text)) >= _WRITTEN_IN * letters:
                return language
    words = _WORD.findall(text.lower())
    english = sum(word in STOP_WORDS for word in words)
    if english >= _PLAINLY * len(words) > 0:
        return ENGLISH
    counts = {language: sum(word in known for word in words) for language, known in FUNCTION_WORDS.items()}
    best = max(counts, key=lambda language: counts[language])
    if best == ENGLISH:
        return ENGLISH if english else None
    return best if counts[best] >= max(_FEWEST, _LEAST * len(words)) else None


def function_words(text: str) -> frozenset[str]:
    """Return the words without meaning of the language that a text is in, also as they are folded; English
    ones where none is told, and those that ask in other languages.
    """
    return _as_folded(language_of(text))


@cache
def _as_folded(language: str | None) -> frozenset[str]:
    known = FUNCTION_WORDS.get(language or ENGLISH, STOP_WORDS) | (frozenset() if language else _ASKING)
    return known.union(map(fold, known))


def main_language(texts: Sequence[str]) -> str:
    """Return the language of most of the texts, by a sample of at most 50; English where few have one."""
    step = max(1, len(texts) // _SAMPLE)
    sample = [texts[place][:_CHARACTERS] for place in range(0, len(texts), step)][:_SAMPLE]
    counts = Counter(found for found in map(language_of, sample) if found)
    best = max(counts, key=lambda language: (counts[language], language == ENGLISH), default=ENGLISH)
    return best if counts[best] >= _LEAST * len(sample) else ENGLISH


def language_name(language: str) -> str:
    """Return the English name of a language that :func:`language_of` tells."""
    return _NAMES[language]
