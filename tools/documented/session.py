"""All pages, one after the other, on stores of their own."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from tools.documented.blocks import Block
from tools.documented.scene import set_scene
from tools.documented.shell import run_page
from tools.services import Postgres, Redis


class Documented(msgspec.Struct, frozen=True):
    """How many blocks were run, and how many of them worked."""

    run: int
    passed: int
    not_run: int


def run_documented(pages: Mapping[str, Sequence[Block]], tell: Callable[[str], object]) -> Documented:
    run = passed = 0
    with ExitStack() as stack:
        # `doctor` calls a database broken that is not durable.
        stores = stack.enter_context(Postgres(durable=True)).url, stack.enter_context(Redis()).url
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scene = stack.enter_context(set_scene(*stores, folder))
        for blocks in pages.values():
            for outcome in run_page(blocks, scene):
                tell(outcome.problem or f"{outcome.block.place}: works")
                run += 1
                passed += outcome.problem is None
    not_run = [block for blocks in pages.values() for block in blocks if block.reason]
    for block in (block for blocks in pages.values() for block in blocks if block.run_by):
        tell(f"{block.place}: run by {block.run_by}")
    for block in not_run:
        tell(f"{block.place}: not run: {block.reason}")
    return Documented(run, passed, len(not_run))
