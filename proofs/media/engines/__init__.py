"""Real engines for speech and transcription, in an environment of their own; by hand only, never in CI."""

# What the server says before its address, once everything is loaded.
READY = "engines listen on "
