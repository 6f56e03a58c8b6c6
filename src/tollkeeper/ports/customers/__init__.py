"""Customers' accounts, keys, lots, codes and notices."""
