"""The way to providers, and what they speak."""
