"""The `tollkeeper` command."""

import sys

from tollkeeper.cli import run


def main() -> None:
    sys.exit(run())


if __name__ == "__main__":
    main()
