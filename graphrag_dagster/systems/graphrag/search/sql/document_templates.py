"""Query templates on documents: which name something, the first and the last, and counts by kind."""

from graphrag_dagster.systems.graphrag.search.sql.query_template import Template

_NAMING = "(mention|name|discuss|contain|cite|concern|refer to|talk about|speak of|are (there )?(about|on))"
_NAMED = "(named|mentioned|discussed|cited|spoken of)"
_END = "(?P<end>first|earliest|oldest|last|latest|newest|most recent)"
_EACH = "(by|per|for each|for every|in each|of each)"
_ABOUT = "(about|on|of|mentioning|naming|concerning|(that|which) (mentions?|names?|(is|are) about))"

DOCUMENTS = (
    Template(
        "documents_naming_by",
        ("How many documents mention Morvane Tidal per year?",),
        (
            f"(how many|number of|which) documents (that )?{_NAMING} <names> {_EACH} <group>",
            f"in how many documents (is|are|was|were) <names> {_NAMED} {_EACH} <group>",
            f"how often (is|are|was|were) <names> {_NAMED} {_EACH} <group>",
        ),
        """
        select {group} as "group", count(*) as documents
        from scope {groups}
        where document_id in (
            select document_id from mentions where entity_id = any($entities)
            group by document_id having count(distinct entity_id) = len($entities))
        group by all
        """,
        '"group" nulls last',
        "Counted: documents{where} that name {names}, by {by}",
        "{group}: {documents}",
        most=100,
        names=(1, 10),
    ),
    Template(
        "documents_by",
        ("Number of documents by year", "How many documents are there per folder?"),
        (f"((how many|number of|count of|count) )?documents (are there |do we have )?{_EACH} <group>",),
        """
        select {group} as "group", count(*) as documents
        from scope {groups}
        group by all
        """,
        '"group" nulls last',
        "Counted: documents{where}, by {by}",
        "{group}: {documents}",
        most=100,
    ),
    Template(
        "documents_naming_most",
        ("Which documents name the most people?",),
        (
            "which (<n> )?documents (name|mention) (the )?most <types>",
            "(the )?(<n> )?documents (that|which) (name|mention) (the )?most <types>",
        ),
        """
        select document_id, scope.title, path, "row", count(distinct entity_id) as entities
        from mentions join scope using (document_id) join graph.entities using (entity_id)
        where {of_type}
        group by all
        """,
        "entities desc, path, row",
        "Ranked: documents{where} by the number of {what} that they name",
        "{title}: {entities}",
        "corpus.documents",
        "document_id",
        most=10,
        ranks=True,
    ),
    Template(
        "dated_mentions",
        ("When was Lady Ingrith first mentioned?", "What is the latest document about the Skelling Inquiry?"),
        (
            f"when (is|are|was|were) <names> {_END} {_NAMED}",
            f"when (do|does|did) <names> {_END} (appear|occur|come up)",
            f"((which|what) (is|was) )?(the )?{_END} (documents?|mentions?|records?) {_ABOUT} <names>",
            f"which documents? (is|was|mentions|names) (the )?{_END} {_ABOUT} <names>",
        ),
        """
        select document_id, title, path, "row", date, arg_min(text_unit_id, place) as text_unit_id
        from mentions join scope using (document_id)
        where entity_id = any($entities)
        group by all having count(distinct entity_id) = len($entities)
        """,
        "date {direction}, path, row",
        "Found: {end} of the dated documents{where} that name {names}",
        "{date}: {title}",
        "corpus.documents",
        "document_id",
        most=1,
        ranks=True,
        dated=True,
        names=(1, 10),
        quotes=True,
    ),
    Template(
        "dated_documents",
        ("What is the earliest document?", "The latest document of the folder council"),
        (f"((which|what) (is|was) )?(the )?{_END} (<n> )?documents?( of all)?",),
        """
        select document_id, title, path, "row", date
        from scope
        """,
        "date {direction}, path, row",
        "Found: {end} of the dated documents{where}",
        "{date}: {title}",
        "corpus.documents",
        "document_id",
        most=1,
        ranks=True,
        dated=True,
    ),
    Template(
        "documents_naming",
        ("How many documents mention Jessamy Drever?", "Which documents name both Valdora and Old Basin?"),
        (
            f"(how many|which|what|number of|list( the| all)?) documents (that )?{_NAMING} (both )?<names>",
            f"in (how many|which|what) documents (is|are|was|were) (both )?<names> {_NAMED}",
            "in (how many|which|what) documents (do|does|did) (both )?<names> (appear|occur)",
            f"documents {_ABOUT} (both )?<names>",
        ),
        """
        select document_id, title, path, "row", date, arg_min(text_unit_id, place) as text_unit_id
        from mentions join scope using (document_id)
        where entity_id = any($entities)
        group by all having count(distinct entity_id) = len($entities)
        """,
        "date nulls last, path, row",
        "Counted: documents{where} that name {names}",
        "{title}",
        "corpus.documents",
        "document_id",
        names=(1, 10),
        quotes=True,
    ),
    Template(
        "documents",
        ("How many documents are there?", "How many documents are there of 2021?"),
        (
            "(how many|number of|list( the| all)?|which) documents"
            "( are there| exist| do we have| were written)?",
        ),
        """
        select document_id, title, path, "row", date
        from scope
        """,
        "date nulls last, path, row",
        "Counted: documents{where}",
        "{title}",
        "corpus.documents",
        "document_id",
    ),
    Template(
        "files",
        ("How many files are there?",),
        ("(how many|number of|list( the| all)?|which) files( are there| exist| do we have)?",),
        """
        select path, count(*) as documents
        from scope
        group by all
        """,
        "path",
        "Counted: files{where} with text",
        "{path}: {documents} documents",
        "corpus.files",
        "path",
    ),
)
