"""The usage log and receipts as they are read."""
