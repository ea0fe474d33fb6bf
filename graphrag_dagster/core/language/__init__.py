"""The language tasks (:mod:`.tasks`) and their two implementations: a model, and extraction from the text."""
