"""Callers' dialects beside chat: orders are read into chat orders, and chat answers are written in the dialect."""
