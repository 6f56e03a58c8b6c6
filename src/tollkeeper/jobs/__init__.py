"""Work beside the calls: one file, one job. Every job may be run twice and by several processes at once."""
