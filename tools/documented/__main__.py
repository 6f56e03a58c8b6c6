"""`python -m tools.documented [PAGE…]`: run them on stores of its own."""

import sys

from tools.documented.pages import documented_blocks
from tools.documented.session import run_documented
from tools.services.process import stop_in_order_when_terminated


def main() -> int:
    stop_in_order_when_terminated()
    wanted = sys.argv[1:]
    pages = {page: blocks for page, blocks in documented_blocks().items() if not wanted or page in wanted}
    told = run_documented(pages, print)
    print(f"docs_commands={told.passed}/{told.run} not_run={told.not_run}")
    return 0 if told.passed == told.run else 1


if __name__ == "__main__":
    sys.exit(main())
