"""Where a body is not JSON, by line and column: for the person who wrote it by hand."""

import json

from tollkeeper.core.errors import MalformedBody

# What is longer was not written by hand, and is not read once more.
LOOKED_AT_BYTES_MOST = 256 * 1024


def malformed(body: bytes) -> MalformedBody:
    """The refusal of a body that could not be read. It never quotes the body."""
    found = _wrong(body) if len(body) <= LOOKED_AT_BYTES_MOST else None
    if found is None:
        return MalformedBody()
    what, line, column = found
    return MalformedBody(
        f"The request body is not JSON: {what} at line {line}, column {column}. Correct it before sending it again."
    )


def _wrong(body: bytes) -> tuple[str, int, int] | None:
    """What is wrong, in which line and column; None where it is JSON, but not what was wanted."""
    try:
        # The standard library's reader, because it says exactly where.
        json.loads(str(body, "utf-8"))
    except UnicodeDecodeError as problem:
        before = body[: problem.start].decode()
        return "a byte that is not UTF-8", before.count("\n") + 1, len(before) - before.rfind("\n")
    except json.JSONDecodeError as problem:
        return problem.msg.lower().removesuffix(" at"), problem.lineno, problem.colno
    except (ValueError, RecursionError):
        return None
    return None
