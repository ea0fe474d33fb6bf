"""Queries that pass the guard, and attacks that do not."""

ALLOWED = (
    "MATCH (n) RETURN n",
    "MATCH (a:Entity {title: 'Hanna Quill'})-[r:RELATED]-(b:Entity) RETURN b.title, r.relation",
    "match (a:Entity) where a.degree > 1 and a.title starts with 'H' return a.title order by a.title desc skip 1 limit 2",
    "MATCH p = shortestPath((a:Entity)-[:RELATED*..3]-(b:Entity)) WHERE a.title = 'X' RETURN p",
    "MATCH p = allShortestPaths((a:Entity)-[:RELATED*1..3]-(b:Entity {title: 'Hanna Quill'})) RETURN length(p)",
    "MATCH p = (a:Entity)-[:RELATED*1..2]->(b) RETURN [n IN nodes(p) WHERE n.degree > 1 | n.title] AS titles LIMIT 5",
    "OPTIONAL MATCH (a:Entity)<-[:RELATED]-(b) WITH a, count(DISTINCT b) AS n WHERE n > 1 RETURN a.title, n",
    "UNWIND ['Hanna Quill', \"Orrin Vask\"] AS name MATCH (a:Entity {title: name}) RETURN a.title AS t",
    "RETURN 1 AS a UNION ALL RETURN 2 AS a UNION RETURN 3 AS a;",
    "MATCH (a:Entity) RETURN CASE WHEN a.degree > 2 THEN 'many' ELSE 'few' END AS k, count(*) AS n ORDER BY n",
    "MATCH (a:Entity) WHERE NOT (a)-[:RELATED]-(:Entity {title: 'Hanna Quill'}) RETURN count(*) AS n",
    "MATCH (a:Entity) WHERE any(x IN a.names WHERE toLower(x) CONTAINS 'quill') RETURN a.title",
    "MATCH (a:Entity|Community) RETURN labels(a) AS l, count(*) AS n",
    "MATCH (e:Entity)-[:MENTIONED_IN]->(u:TextUnit)-[:PART_OF]->(d:Document) RETURN d.title, count(DISTINCT e)",
    "RETURN substring('hello', 1, 2), [1, 2, 3][0], [1, 2, 3][1..], split('a,b', ','), head([1]), -1 ^ 2, 7 % 3",
    "RETURN 'MATCH (n) DETACH DELETE n; // /* CREATE' AS text, '\\u0027) SET x' AS other, `a`.`b` AS c",
    "MATCH (a:Entity) RETURN DISTINCT a.type AS `CREATE (n)`",
    "MATCH (`create`) WITH `create` AS c RETURN c.delete",
    "MATCH (a)-[r]-(b) WHERE type(r) = 'RELATED' AND a.x IS NOT NULL OR b.y IS NULL XOR true RETURN {k: a.x}.k",
)

_WRITES = (
    *(
        "CREATE (n)",
        "MERGE (n {a: 1})",
        "MATCH (n) SET n.a = 1",
        "MATCH (n) DELETE n",
        "MATCH (n) DETACH DELETE n",
    ),
    *(
        "MATCH (n) REMOVE n.a",
        "MATCH (n) FOREACH (x IN [1] | SET n.a = x)",
        "DROP TABLE Entity",
        "ALTER TABLE Entity",
    ),
    *("CREATE NODE TABLE x(a STRING, PRIMARY KEY(a))", "CREATE INDEX ON :Entity(title)", "BEGIN TRANSACTION"),
    *(
        "MATCH (n) RETURN n; CREATE (m)",
        "MATCH (n) RETURN n CREATE (m)",
        "MATCH (n) WITH n CREATE (m) RETURN m",
    ),
    *("MATCH (n) WHERE (n) = (CREATE (m)) RETURN n", "USE other MATCH (n) RETURN n", "ON CREATE SET n.a = 1"),
)
_FILES = (
    *(
        "LOAD CSV FROM 'file:///etc/passwd' AS r RETURN r",
        "LOAD FROM '/etc/passwd' RETURN *",
        "LOAD EXTENSION json",
    ),
    *(
        "LOAD CSV WITH HEADERS FROM 'http://example.org' AS r RETURN r",
        "USING PERIODIC COMMIT LOAD CSV FROM 'x' AS r",
    ),
    *(
        "COPY Entity FROM 'x.csv'",
        "COPY (MATCH (n) RETURN n) TO 'out.csv'",
        "EXPORT DATABASE 'x'",
        "IMPORT DATABASE 'x'",
    ),
    *(
        "INSTALL httpfs",
        "ATTACH 'x.db' AS y (dbtype duckdb)",
        "DETACH y",
        "EXPLAIN MATCH (n) RETURN n",
        "PROFILE RETURN 1",
    ),
    "MATCH (n) WHERE n.a IN (LOAD FROM 'x') RETURN n",
)
_CALLS = (
    *(
        "CALL db.labels()",
        "CALL show_tables() RETURN *",
        "CALL { MATCH (n) RETURN n } RETURN n",
        "CALL threads=8",
    ),
    *(
        "MATCH (n) CALL apoc.cypher.run('CREATE (m)', {}) YIELD value RETURN value",
        "RETURN apoc.text.join(['a'], '')",
    ),
    *(
        "MATCH (n) WHERE EXISTS { MATCH (n)-->() } RETURN n",
        "RETURN COUNT { MATCH (n) }",
        "RETURN COLLECT { MATCH (n) RETURN n }",
    ),
    *(
        "RETURN exists((:A)-->(:B))",
        "RETURN file('x')",
        "RETURN range(1, 1000000000)",
        "RETURN repeat('x', 1000000000)",
    ),
    *(
        "RETURN reduce(s = 0, x IN [1] | s + x)",
        "RETURN randomUUID()",
        "RETURN nextval('s')",
        "RETURN read_text('/etc/passwd')",
    ),
    *("RETURN collect(DISTINCT *)", "RETURN toLower(DISTINCT 'a')", "RETURN size()", "RETURN count(1, 2"),
)
_TRICKS = (
    *("MATCH (n) RETURN n // comment", "MATCH (n) /* comment */ RETURN n", "RETURN 1 -- 2 // x", "\\u0043REATE (n)"),
    *("MATCH (n) RETURN n.\\u0061", "RETURN 'a\\q'", "RETURN '\\uD800'", "RETURN 'unended", 'RETURN "a\'', "RETURN `a", "RETURN ``"),
    *("RETURN `a\\u0060b`", "MATCH (n) RETURN n;; ", "MATCH (n) RETURN n; RETURN 1", ";", "", "   ", "MATCH (n)", "RETURN"),
    *("RETURN $missing", "MATCH (a)-[*]-(b) RETURN a", "MATCH (a)-[*1..]-(b) RETURN a", "MATCH (a)-[*..5]-(b) RETURN a"),
    *("MATCH (a)-[:R*6]-(b) RETURN a", "MATCH (a)-[*3..2]-(b) RETURN a", "MATCH (a) WHERE (a)-[*..9]-() RETURN a"),
    *("MATCH p = shortestPath((a)-[*]-(b)) RETURN p", "MATCH (a)<-[r]->(b) RETURN r", "MATCH (a:A:B) RETURN a"),
    *("RETURN 1 < 2 < 3", "RETURN 0x1F", "RETURN 017", "RETURN 9223372036854775808", "RETURN 1e999", "RETURN 1 LIMIT -1"),
    *("RETURN 1 LIMIT 'a'", "RETURN 1 LIMIT 1 + 1", "RETURN 1 LIMIT $n", "RETURN \x00", "RETURN 'a'\x00", "RETURN 1\u00a0", "RETURN \ud800"),
    *("RETURN " + "(" * 50 + "1" + ")" * 50, "RETURN " + "[" * 50 + "]" * 50, "RETURN 1" + " + 1" * 2000, f"RETURN {'a' * 101}"),
    *("RETURN 1 UNION " * 31 + "RETURN 1", "MATCH " + "(a)--" * 45 + "(a) RETURN a", "RETURN n {.title}", "RETURN ?", "RETURN @x"),
)  # fmt: skip

REFUSED = (*_WRITES, *_FILES, *_CALLS, *_TRICKS)
