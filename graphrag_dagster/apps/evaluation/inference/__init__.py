"""Inference from judgements and measures: means, tests, verdicts."""
