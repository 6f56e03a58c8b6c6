"""prove-run: a service that is upgraded, watched, restored and documented while it works."""
