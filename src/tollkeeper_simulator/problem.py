"""An error that is told instead of an answer; how it is worded is each vendor's own."""

from typing import NamedTuple


class Problem(NamedTuple):
    """What is wrong; what is not given is as usual for the status at that vendor."""

    status: int
    message: str | None = None
    type: str | None = None
    code: str | None = None
    retry_after: int | None = None
    param: str | None = None


class Refused(Exception):
    """A call that gets an error instead of an answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.status)
        self.problem = problem
