"""An indexed corpus asked, and where its rows come from."""
