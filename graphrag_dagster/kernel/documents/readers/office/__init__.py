"""Readers of office documents, e-books and PDF."""
