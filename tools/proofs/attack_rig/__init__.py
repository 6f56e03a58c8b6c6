"""The rig of prove-attacks: who tries what, what came of it, and who else was on the node meanwhile."""
