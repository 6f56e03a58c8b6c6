"""What prove-relay is made of: the acts that each SDK plays."""
