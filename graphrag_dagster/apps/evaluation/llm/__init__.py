"""Questions, verdicts, claims of answers and themes by a model."""
