"""The catalog and its prices, as operators keep them and everybody reads them."""
