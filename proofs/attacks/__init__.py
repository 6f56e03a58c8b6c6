"""What prove-attacks is made of: who tries what, what came of it, and who else was on the node meanwhile."""
