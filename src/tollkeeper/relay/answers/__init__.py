"""Answers on their way to the caller: whole, streamed, and of media."""
