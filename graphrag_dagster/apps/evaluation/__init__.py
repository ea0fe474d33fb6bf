"""Questions, judging, measures of claims, and the statistics of comparisons."""
