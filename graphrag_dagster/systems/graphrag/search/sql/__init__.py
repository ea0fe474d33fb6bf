"""Answers by a query over the tables of the index: counts, top lists, firsts and lasts, groups."""
