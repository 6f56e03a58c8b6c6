"""What keeps a demo from running."""


class CannotRun(RuntimeError):
    """Something that the demo needs is not there or ended; the message says what, and what to do about it."""
