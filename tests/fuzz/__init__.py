"""Hostile inputs by the thousand: generators with a seed, and what must hold of each."""
