"""Selecting and answering from paths by a model (paper B.13)."""
