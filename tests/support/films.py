"""A corpus that is a small graph of films, with questions of which the answers are known."""

from pathlib import Path

TRIPLES = """head,relation,tail
Alien,directed_by,Ridley Scott
Alien,starred_actors,Sigourney Weaver
Alien,release_year,1979
Blade Runner,directed_by,Ridley Scott
Blade Runner,starred_actors,Harrison Ford
Blade Runner,has_tags,$
Aliens,directed_by,James Cameron
Aliens,starred_actors,Sigourney Weaver
Working Girl,starred_actors,Sigourney Weaver
Working Girl,starred_actors,Harrison Ford
Far Island,directed_by,Nobody Known
"""
ONE_HOP = """who directed [Alien]\tRidley Scott
which films did [Sigourney Weaver] act in\tAlien|Aliens|Working Girl
what are the tags of [Blade Runner]\t$
who directed [Alien]\tRidley Scott
who directed [Solaris]\tAndrei Tarkovsky
who directed Aliens\tJames Cameron
"""
TWO_HOP = """who starred in the films of [Ridley Scott]\tSigourney Weaver|Harrison Ford
who directed the films with [Harrison Ford]\tRidley Scott
"""
SETTINGS = """kind: graph
communities: {drift: 0}
paths:
  questions: [qa/1-hop/dev.txt, qa/2-hop/dev.txt]
"""


def write_films(home: Path, settings: str = SETTINGS) -> Path:
    """Write the corpus ``films`` below a home, and return its folder."""
    folder = home / "corpora" / "films"
    for hops, content in (("1-hop", ONE_HOP), ("2-hop", TWO_HOP)):
        (folder / "qa" / hops).mkdir(parents=True, exist_ok=True)
        (folder / "qa" / hops / "dev.txt").write_text(content, encoding="utf-8")
    (folder / "films.csv").write_text(TRIPLES, encoding="utf-8")
    (folder / "corpus.yaml").write_text(settings, encoding="utf-8")
    return folder
