"""CoTeRAG-S: retrieval by communities and terms over directed triples, with summaries and a fallback store.

When an index is made, in :mod:`.indexing`: triples, stores, communities, descriptions and summary requests;
once there are summaries and vectors, :mod:`.community_terms` and the calibration. When a question is asked,
:mod:`.answering` goes through :mod:`.routing`, :mod:`.retrieval` and the rounds of the fallback over a
:mod:`.snapshot`, and notes all of it in a :mod:`.trace`.
"""
