"""What prove-vendors is made of: the acts that each SDK plays, in each protocol, and calls by hand."""
