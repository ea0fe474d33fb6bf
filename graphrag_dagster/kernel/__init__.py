"""What any graph-RAG system needs; names none of them."""
