"""A proof's run: the size asked for, and figures that are printed as the last line however it ends.

Rules of this file
1. The last line has every figure of the proof. One that was not reached is `-`.
2. A proof that breaks off says where, prints the figures that it has and `broke_off=` with the problem, and fails.
3. In CI and small size, what depends on how busy the machine is is printed and not judged.
"""

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import msgspec

from tools.figures import conclude, say, seed
from tools.services.process import stop_in_order_when_terminated

__all__ = ["Run", "prove", "say", "seed"]

NOT_REACHED = "-"


class Run(msgspec.Struct, kw_only=True):
    """What was asked for, and what was found so far."""

    # small or full
    size: str
    # The revision with which the present state is to be compared, if any.
    before: str | None = None
    # The folder for pictures of what was seen, if any are wanted.
    pictures: str | None = None
    # The number of the one journey that is wanted; None: all of them, and everything else.
    only: int | None = None
    figures: dict[str, object] = {}

    def expect(self, *figures: str) -> None:
        """The last line has these, and no others of before."""
        self.figures = dict.fromkeys(figures, NOT_REACHED)

    def pictures_folder(self) -> Path | None:
        """Where pictures go, made if it is not there."""
        if self.pictures is None:
            return None
        folder = Path(self.pictures)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def judges_timings(self) -> bool:
        return self.size == "full" or "CI" not in os.environ


def prove(proof: Callable[[Run], int], *figures: str) -> NoReturn:
    """Run a proof as the program's purpose. `figures`: the names on its last line, in order."""
    stop_in_order_when_terminated()
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=["small", "full"], default="small")
    parser.add_argument("--before", metavar="REVISION")
    parser.add_argument("--pictures", metavar="FOLDER")
    parser.add_argument("--only", metavar="JOURNEY", type=int)
    asked = parser.parse_args()
    run = Run(size=asked.size, before=asked.before, pictures=asked.pictures, only=asked.only)
    run.expect(*figures)
    sys.exit(outcome(proof, run))


def outcome(proof: Callable[[Run], int], run: Run) -> int:
    """What the proof returns, or 1 where it broke off; the last line is printed in any case."""
    try:
        status = proof(run)
    except Exception as problem:
        traceback.print_exc()
        conclude(run.figures | {"broke_off": type(problem).__name__})
        return 1
    except BaseException as problem:
        conclude(run.figures | {"broke_off": type(problem).__name__})
        raise
    conclude(run.figures)
    return status
