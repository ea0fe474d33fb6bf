"""Use cases: what people and programs ask of a corpus."""
