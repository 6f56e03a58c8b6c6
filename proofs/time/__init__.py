"""A year in minutes, and a usage log of millions of rows."""
