"""The books in PostgreSQL, the write-ahead journal beside them, and the checks that they are right."""
