"""What desks say of what was named: that it is not there, or that it is there already."""


class NotOnFile(LookupError):
    """What was named does not exist; the message says which."""


class AlreadyOnFile(ValueError):
    """What was to be made exists already; the message says which."""
