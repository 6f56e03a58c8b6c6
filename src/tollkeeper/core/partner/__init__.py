"""The partner plan's figures."""
