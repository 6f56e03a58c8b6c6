"""Customers' accounts, keys, lots, codes and statements in PostgreSQL."""
