"""Queries in Cypher that only read: a parser of what is allowed, which writes them anew.

The parser knows no more of openCypher than may be run; what it does not know cannot pass it. What runs is
what it writes: names in backticks, literals as parameters, bounds put on.
"""
