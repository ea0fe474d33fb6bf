"""Pairs of names: which are compared, what speaks for and against them, and how likely they are one."""
