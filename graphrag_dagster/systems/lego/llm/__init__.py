"""Selecting and answering from paths by a model (spec_lego §2)."""
