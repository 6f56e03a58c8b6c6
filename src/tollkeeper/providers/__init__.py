"""Upstream providers: the HTTP client, the pool of their accounts, and the vendors' wire formats."""
