"""Columns of table-like files, and properties of other documents: sums, averages, extremes, values."""

from graphrag_dagster.core.search.methods.sql.template import Template

_EACH = "(by|per|for each|for every|in each)"
_AGGREGATE = (
    "(?P<aggregate>average|mean|median|sum|total|minimum|maximum|min|max|lowest|highest|smallest|largest)"
)

COLUMNS = (
    Template(
        "column_value",
        ("How many documents have the vessel Mudlark?",),
        ("(how many|which|number of|list( the| all)?) documents (have|has|with) (the )?<column_value>",),
        """
        select document_id, scope.title, path, "row", min(text) as "value"
        from scope join corpus.document_metadata using (document_id)
        where key = any($column) and (lower(text) = lower($wanted) or number = try_cast($wanted as double))
        group by all
        """,
        "path, row",
        "Counted: documents{where} whose {column} is {wanted}",
        "{title}",
        "corpus.documents",
        "document_id",
    ),
    Template(
        "column_extremes",
        ("Which 3 documents have the highest damage?",),
        (
            "which (<n> )?documents? (have|has) (the )?"
            "(?P<extreme>highest|largest|most|lowest|smallest|least) <number>",
        ),
        """
        select document_id, title, path, "row", {outermost}("value") as "value"
        from scope join numbers using (document_id)
        group by all
        """,
        '"value" {direction}, path, row',
        "Ranked: documents{where} by {column}, the {extreme} first",
        "{title}: {value}",
        "corpus.documents",
        "document_id",
        most=10,
        ranks=True,
    ),
    Template(
        "column_by",
        ("What is the average damage by vessel?", "The total damage per year"),
        (f"(what (is|was|are) )?(the )?{_AGGREGATE} (of (the )?)?<number> {_EACH} <group>",),
        """
        select {group} as "group", round({aggregate}("value"), 6) as "value",
            count(distinct document_id) as documents
        from scope join numbers using (document_id) {groups}
        group by all
        """,
        '"group" nulls last',
        "Computed: {aggregate} of {column} over documents{where}, by {by}",
        "{group}: {value} (of {documents})",
        most=100,
    ),
    Template(
        "column",
        ("What is the highest damage?",),
        (f"(what (is|was|are) )?(the )?{_AGGREGATE} (of (the )?)?<number>",),
        """
        select round({aggregate}("value"), 6) as "value", count(distinct document_id) as documents
        from scope join numbers using (document_id)
        """,
        "documents",
        "Computed: {aggregate} of {column} over documents{where}",
        "{value} (of {documents} documents)",
    ),
)
