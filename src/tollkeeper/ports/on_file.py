"""What desks say of what was named: that it is not there, that it is there already, or that something needs it."""


class NotOnFile(LookupError):
    """What was named does not exist; the message says which."""


class AlreadyOnFile(ValueError):
    """What was to be made exists already; the message says which."""


class StillInUse(ValueError):
    """What was to be removed is needed by something else; the message says by what."""
