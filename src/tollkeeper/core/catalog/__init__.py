"""The catalog and the price book, as pure rules."""
