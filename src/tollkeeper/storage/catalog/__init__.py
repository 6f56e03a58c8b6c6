"""Models, groups and prices in PostgreSQL."""
