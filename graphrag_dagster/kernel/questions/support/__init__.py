"""Whether words of the documents support what is said."""
