"""Selecting and answering from paths by rule: what is named ``-lex`` (spec_lego §11)."""
