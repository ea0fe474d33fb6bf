"""CoTeRAG-S: retrieval by communities and terms over directed triples, with summaries and a fallback store.

When an index is made (:mod:`.index`): triples, stores, communities, descriptions and summary requests; once
there are summaries and vectors, terms of communities and the calibration. When a question is asked
(:mod:`.search`): routing, retrieval and the rounds of the fallback over a snapshot, all of it in the trace.
"""
