"""The evaluation: questions, judging, measures of claims, and statistics of comparisons."""
