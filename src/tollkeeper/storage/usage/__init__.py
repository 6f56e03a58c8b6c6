"""The usage log and its receipts in PostgreSQL."""
