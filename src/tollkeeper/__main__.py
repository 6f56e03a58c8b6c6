"""The `tollkeeper` command."""

from tollkeeper.cli import run


def main() -> None:
    run()


if __name__ == "__main__":
    main()
