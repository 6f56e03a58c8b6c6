"""`python -m tools.site [--to FOLDER]`."""

import argparse
import sys
from pathlib import Path

from tools.site.build import ROOT, build
from tools.site.nav import SiteError


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--to", type=Path, default=ROOT / "dist" / "site")
    to = parser.parse_args().to
    try:
        pages = build(to)
    except SiteError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"{to}/index.html  pages={pages} dead_links=0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
