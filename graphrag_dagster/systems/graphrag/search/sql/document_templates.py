"""Query templates on documents: which name something, the first and the last, and counts by kind."""

from graphrag_dagster.systems.graphrag.search.sql.query_template import Template

_DOCS = (
    "((all |all the |the |your |our |these )?(different |distinct |single )?"
    "(documents?|texts?|articles?|pages?|papers?|records?|entries|sources?))"
)
_FILES = "((all |all the |the |your |our |these )?(different |distinct |single )?files?)"
_WORD = "(?= (the )?(exact )?(words?|names?|terms?|phrases?|expressions?)\\b)"
_HOLD = (
    "(mention(s|ing)?|contain(s|ing)?|names?|naming|cites?|citing|includes?|including|refer(s|ring)? to|"
    f"talk(s|ing)? about|speaks? (of|about)|writes? about|tells? of|(uses?|says?|have|has|with){_WORD})"
)
_HELD = "(named|mentioned|cited|contained|included|referred to|talked about|spoken of|written about|used)"
_OCCUR = "(appears?|occurs?|shows? up|comes? up|turns? up|figures?|stands?)"
_EVERYWHERE = (
    "( (at all|anywhere|at least once|by name)|"
    " in (it|them|(all |any |the |these )*(corpus|texts?|documents?)))?"
)
_HOW_MANY = (
    "((how many|which|what)( of)?|((the|what) )?(total )?number of|count( of)?|(list|show|find)( me)?|"
    "(is|are) there( any)?|do(es)? any( of)?|any)"
)
_END = "(?P<end>first|earliest|oldest|last|latest|newest|most recent)"
_EACH = "(by|per|for each|for every|in each|of each)"
_ABOUT = "(about|on|concerning|discussing|(that|which) ((is|are) about|concerns?|discuss(es)?))"


def _holding(documents: str, end: str = "") -> tuple[str, ...]:
    """Patterns of questions for documents that hold words, and what follows these."""
    words = f"<words>{_EVERYWHERE}"
    return (
        f"{_HOW_MANY} {documents} ((that|which|where|do|does|did|are there|is there|there are) )*"
        f"(also |ever |explicitly |actually )?{_HOLD} {words}{end}",
        f"(in )?(how many|which|what)( of)? {documents} (is|are|was|were|has|have) (both )?{words} (been )?"
        f"{_HELD}( in)?{_EVERYWHERE}{end}",
        f"(in )?(how many|which|what)( of)? {documents} (do|does|did) (both )?{words} {_OCCUR}( in)?{end}",
        f"(how many|which|what)( of)? {documents} <words> (is {_HELD}|are {_HELD}|{_OCCUR}) in{end}",
        f"<words> (is {_HELD}|are {_HELD}|{_OCCUR}) in how many( of)? {documents}{end}",
        f"{documents} {_HOLD} {words}{end}",
        f"{_HOW_MANY} {documents} (in which|where) {words} (is|are|was|were) {_HELD}{end}",
    )


_FIRST_UNIT = """
        select document_id, title, path, "row", date{unit}
        from scope {units}
        {within}
        """

DOCUMENTS = (
    Template(
        "documents_by",
        ("Number of documents by year", "How many documents mention Morvane Tidal per year?"),
        (
            f"((how many|number of|count of|count) )?documents (are there |do we have )?{_EACH} <group>",
            *_holding(_DOCS, f" {_EACH} <group>"),
            f"how often (is|are|was|were) <words> {_HELD} {_EACH} <group>",
        ),
        """
        select {group} as "group", count(*) as documents
        from scope {groups}
        {within}
        group by all
        """,
        '"group" nulls last',
        "Counted: documents{where}{holding}, by {by}",
        "{group}: {documents}",
        most=100,
        names=(1, 10),
    ),
    Template(
        "dated_documents",
        (
            "What is the earliest document?",
            "When was Lady Ingrith first mentioned?",
            "What is the latest document about the Skelling Inquiry?",
        ),
        (
            f"((which|what) (is|was) )?(the )?{_END} (<n> )?documents?( of all)?",
            f"when (is|are|was|were) <words> {_END} {_HELD}",
            f"when (do|does|did) <words> {_END} {_OCCUR}",
            f"((which|what) (is|was) )?(the )?{_END} (documents?|mentions?|records?) {_ABOUT} <subject>",
            f"((which|what) (is|was) )?(the )?{_END} (documents?|records?) ((that|which) )?{_HOLD} <words>",
            f"((which|what) (is|was) )?(the )?{_END} mentions? of <words>",
        ),
        _FIRST_UNIT,
        "date {direction}, path, row",
        "Found: {end} of the dated documents{where}{holding}",
        "{date}: {title}",
        "corpus.documents",
        "document_id",
        most=1,
        ranks=True,
        dated=True,
        names=(1, 10),
    ),
    Template(
        "documents",
        ("How many documents mention Jessamy Drever?", "How many documents are there of 2021?"),
        (
            "(how many|number of|list( the| all)?|which) documents"
            "( are there| exist| do we have| were written)?",
            *_holding(_DOCS),
            f"{_HOW_MANY} {_DOCS} ((that|which) )?((is|are) (there )?)?{_ABOUT} <subject>",
            f"documents {_ABOUT} <subject>",
            f"(is|are|was|were) <words> {_HELD} (anywhere|at all|in (any|the|all|these) {_DOCS})",
        ),
        _FIRST_UNIT,
        "date nulls last, path, row",
        "Counted: documents{where}{holding}",
        "{title}",
        "corpus.documents",
        "document_id",
        names=(1, 10),
    ),
    Template(
        "files",
        ("How many files are there?",),
        (
            "(how many|number of|list( the| all)?|which) files( are there| exist| do we have)?",
            *_holding(_FILES),
        ),
        """
        select path, count(*) as documents
        from scope
        {within}
        group by all
        """,
        "path",
        "Counted: files that were read{where}{holding}",
        "{path}: {documents} documents",
        "corpus.files",
        "path",
        names=(1, 10),
    ),
    Template(
        "occurrences",
        ("How often is Valdora mentioned?",),
        (
            f"how (often|many times) (is|are|was|were|has|have) <words> (been )?{_HELD}{_EVERYWHERE}",
            f"how (often|many times) (do|does|did) <words> {_OCCUR}{_EVERYWHERE}",
            "(how many|number of) (mentions|occurrences) (are there )?of <words>",
        ),
        """
        select coalesce(sum(len(regexp_extract_all(
                regexp_replace(text, '([^\\pL\\pN\\pM])', '\\1\\1', 'g'), {any_of}))), 0)::bigint as times,
            count(*) as documents
        from corpus.documents join scope using (document_id)
        where {holds}
        """,
        "times",
        "Counted: how often {words} stands in the text of documents{where}",
        "{times} times in {documents} documents",
    ),
)
