"""The database's schema, step by step, forward only."""
