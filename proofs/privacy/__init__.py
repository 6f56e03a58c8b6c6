"""What prove-privacy is made of."""
