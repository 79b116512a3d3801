"""Golden builders: they write the corpus in ``golden-tables/`` out of rows they put in."""
