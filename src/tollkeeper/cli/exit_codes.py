"""What a command's exit code means: the same for every command.

Scripts go by them, so a number never changes its meaning. `docs/reference/commands.md` is made from here.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    DONE = 0
    REFUSED = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.DONE: "Done. What was asked for is so, also where it was so before.",
    ExitCode.REFUSED: "Not done, or found to be wrong: standard error says why, and what to do. This is also how "
    "`books check` says that the books are not clean, and `provider test` that no answer came.",
    ExitCode.USAGE: "The command line could not be read: an unknown command or option, a value out of its range.",
    ExitCode.STORE: "The database cannot be used: it is away, the login or a right is wrong, or it is not migrated; "
    "or the operator API cannot be reached. Nothing was done, unless standard error says that this is not known.",
    ExitCode.INTERRUPTED: "Ctrl-C.",
}
