"""Rate limits and abuse, as pure rules."""
