"""Providers: their accounts, the pool, the way to them, and the operators' desk."""
