"""Calls: reading orders and answers, counting what is in them."""
