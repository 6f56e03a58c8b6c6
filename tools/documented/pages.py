"""The pages whose commands are run, and what is shown on each.

Rules of this file
1. What is shown on several pages in the same words, as in a translation, is run on the first.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.documented.blocks import Block, blocks_of

ROOT = Path(__file__).parents[2]
PATTERNS = ("README.md", "docs/*.md", "docs/guides/*.md", "docs/concepts/*.md", "docs/runbook/*.md", "docs/zh/*.md")


def documented_blocks() -> Mapping[str, Sequence[Block]]:
    """By page, in the order in which they are run."""
    seen: set[str] = set()
    found: dict[str, list[Block]] = {}
    for page in _pages():
        shown = blocks_of(page, (ROOT / page).read_text("utf-8"))
        new = [block for block in shown if block.text not in seen]
        seen |= {block.text for block in shown}
        if new:
            found[page] = new
    return found


def _pages() -> Iterator[str]:
    for pattern in PATTERNS:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix()
