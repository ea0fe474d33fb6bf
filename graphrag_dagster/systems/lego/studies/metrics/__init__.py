"""How good subgraphs, paths and answers are by gold answers (spec_lego §9)."""
