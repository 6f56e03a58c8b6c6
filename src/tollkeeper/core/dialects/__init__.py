"""Callers' dialects beside chat: orders are read into chat orders, and chat answers told in the dialect."""
