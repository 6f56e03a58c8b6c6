"""Tollkeeper: a model gateway that keeps honest books."""

__version__ = "0.1.0"
