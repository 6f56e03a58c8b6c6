"""The wire formats, one room or file for each vendor."""
