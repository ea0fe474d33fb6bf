"""What follows from judgements and measures: means, tests, verdicts."""
