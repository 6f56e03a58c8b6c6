"""`tollkeeper`, with a journal whose segments are full after a few dozen calls instead of ten thousand."""

from tollkeeper import __main__ as program
from tollkeeper.storage.ledger import journal

SEGMENT_BYTES = 16 * 1024

# Processes that it starts import this module, too.
journal.SEGMENT_BYTES = SEGMENT_BYTES

if __name__ == "__main__":
    program.main()
