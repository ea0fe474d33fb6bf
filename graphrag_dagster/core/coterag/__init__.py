"""CoTeRAG-S: retrieval by communities and terms over directed triples, with summaries and a fallback store.

At index time: :mod:`.triples` → :mod:`.stores` → :mod:`.communities` → :mod:`.descriptions`,
:mod:`.summary_requests`, :mod:`.community_terms` → vectors → :mod:`.calibration`. At question time
:mod:`.answering` goes through :mod:`.routing`, :mod:`.retrieval` and the fallback loop over a :mod:`.snapshot`,
and notes everything in a :mod:`.trace`.
"""
