"""The journal: what it remembers, for whom, and when it forgets."""

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.storage.catalog.examples import IN_PARTS
from tests.storage.ledger.benches import a_settlement, an_order
from tollkeeper.core.money.charge import Ending
from tollkeeper.core.money.prices import Usage
from tollkeeper.ports import HoldOrder, Settlement
from tollkeeper.storage.ledger import journal as journals
from tollkeeper.storage.ledger.journal import Journal, boot_id
from tollkeeper.storage.ledger.orphan_journals import orphaned

WRITE_AND_DIE = """
import os, signal, sys
from pathlib import Path
from tests.storage.ledger.benches import a_settlement, an_order
from tollkeeper.storage.ledger.journal import Journal
journal = Journal(Path(sys.argv[1]), 7)
for number in range(100):
    journal.write(a_settlement(an_order(1, 1, number), number))
os.kill(os.getpid(), signal.SIGKILL)
"""


def an_open_hold(order: HoldOrder, usage: Usage = Usage(10)) -> Settlement:  # noqa: B008 (frozen)
    """As the books would close it."""
    return a_settlement(order, 5, Ending.OWNER_DIED, usage=usage)


def test_a_living_workers_journal_is_nobody_elses(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    journal.write(a_settlement(an_order(1, 1, 5), 5))
    assert list(orphaned(tmp_path)) == []


@pytest.mark.not_quick
def test_what_a_killed_worker_wrote_is_found(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", WRITE_AND_DIE, str(tmp_path)], check=False, cwd=Path(__file__).parents[3])
    [orphan] = orphaned(tmp_path)
    assert orphan.worker_id == 7
    assert [settlement.charge.amount for settlement in orphan.settlements] == list(range(100))


def test_the_last_line_of_a_call_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    order = an_order(1, 1, 50)
    journal.write(a_settlement(order, 10, Ending.OWNER_DIED))
    journal.write(a_settlement(order, 30))
    journal.close()
    [orphan] = orphaned(tmp_path)
    [settlement] = orphan.settlements
    assert (settlement.charge.amount, settlement.ending) == (30, Ending.COMPLETED)


def test_what_of_its_usage_has_a_price_of_its_own_is_remembered(tmp_path: Path) -> None:
    written = a_settlement(an_order(1, 1, 50), 10, usage=IN_PARTS)
    journal = Journal(tmp_path, 7)
    journal.write(written)
    journal.close()
    [orphan] = orphaned(tmp_path)
    assert orphan.settlements == [written]


# As the version before there were parts wrote them.
LINES_BEFORE_PARTS = b"""\
{"request_id":"019a8dd7-9e4a-7a9e-8d53-aa0c8b0f3b11","account_id":1,"charge":{"amount":5,"usage":{"input_tokens":10,\
"output_tokens":0,"cached_tokens":0},"source":"counted_input"},"ending":"owner_died","attempts":[]}
{"request_id":"019a8dd7-9e4a-7a9e-8d53-aa0c8b0f3b12","account_id":1,"charge":{"amount":9,"usage":{"input_tokens":10,\
"output_tokens":5,"cached_tokens":2},"source":"provider"},"ending":"completed","attempts":[{"account":"one"}]}
"""


def test_journals_of_the_version_before_there_were_parts_are_read(tmp_path: Path) -> None:
    Journal(tmp_path, 7).close()
    (tmp_path / "7-000001.journal").write_bytes(LINES_BEFORE_PARTS)
    (tmp_path / "7-000001.journal").chmod(0o600)
    [orphan] = orphaned(tmp_path)
    assert [settlement.charge.usage for settlement in orphan.settlements] == [Usage(10), Usage(10, 5, 2)]
    assert [settlement.charge.amount for settlement in orphan.settlements] == [5, 9]


def test_which_calls_were_sent_is_known_of_every_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal = Journal(tmp_path, 7)
    orders = [an_order(1, 1, 5) for _ in range(60)]
    for order in orders[:50]:
        journal.write_sending(order.request_id)
    # The first half of them ended well.
    for order in orders[:25]:
        journal.booked(order.request_id)
    journal.close()
    [orphan] = orphaned(tmp_path)
    assert orphan.settlements == []
    assert not any(orphan.never_sent(an_open_hold(order)) for order in orders[25:50])
    assert all(orphan.never_sent(an_open_hold(order)) for order in orders[50:])


def test_a_journal_is_read_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is marked as sent in the segment that could not be opened would be free."""
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal = Journal(tmp_path, 7)
    orders = [an_order(1, 1, 5) for _ in range(50)]
    for order in orders:
        journal.write_sending(order.request_id)
    journal.close()
    second, opened, troubles = sorted(tmp_path.iterdir())[1], os.open, [OSError(errno.EMFILE, "Too many open files")]

    def without_a_descriptor(path: str, *how: int, **where: int) -> int:
        if path == second.name and troubles:
            raise troubles.pop()
        return opened(path, *how, **where)

    monkeypatch.setattr(os, "open", without_a_descriptor)
    with pytest.raises(OSError, match="Too many open files"):
        list(orphaned(tmp_path))
    [orphan] = orphaned(tmp_path)
    assert not any(orphan.never_sent(an_open_hold(order)) for order in orders)


def test_of_a_journal_with_a_part_that_is_not_ours_nobody_knows_what_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal = Journal(tmp_path / "journal", 7)
    orders = [an_order(1, 1, 5) for _ in range(50)]
    for order in orders:
        journal.write_sending(order.request_id)
    journal.close()
    first = min((tmp_path / "journal").iterdir())
    # As a backup by hard links does.
    os.link(first, tmp_path / "copy")
    [orphan] = orphaned(tmp_path / "journal")
    assert first not in orphan.paths
    assert not any(orphan.never_sent(an_open_hold(order)) for order in orders)


@pytest.mark.parametrize(
    "line", [b'{"of":"a version to come"}\n' + b"?" * 40, b"?\n", b"sending " + b"1" * 32 + b" 17\n", b"sending 1\n"]
)
def test_of_a_journal_with_a_line_that_says_nothing_to_us_nobody_knows_what_was_sent(
    line: bytes, tmp_path: Path
) -> None:
    journal = Journal(tmp_path, 7)
    orders = [an_order(1, 1, 5) for _ in range(3)]
    journal.write_sending(orders[0].request_id)
    journal.close()
    [path] = tmp_path.iterdir()
    path.write_bytes(path.read_bytes().rstrip(b"\0") + line)
    [orphan] = orphaned(tmp_path)
    assert not any(orphan.never_sent(an_open_hold(order)) for order in orders)


def test_a_journal_that_cannot_be_read_keeps_no_other_from_being_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for worker_id in (6, 7, 8):
        journal = Journal(tmp_path, worker_id)
        journal.write(a_settlement(an_order(1, 1, 5), worker_id))
        journal.close()
    opened = os.open

    def broken(path: str, *how: int, **where: int) -> int:
        if str(path).startswith("6-"):
            raise OSError(errno.EIO, "Input/output error")
        return opened(path, *how, **where)

    monkeypatch.setattr(os, "open", broken)
    found = orphaned(tmp_path)
    assert [next(found).worker_id, next(found).worker_id] == [7, 8]
    with pytest.raises(OSError, match="Input/output error"):
        next(found)


def test_a_call_whose_sending_was_half_noted_was_not_sent(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    sent, torn = an_order(1, 1, 5), an_order(1, 1, 5)
    journal.write_sending(sent.request_id)
    journal.write_sending(torn.request_id)
    journal.close()
    [file] = tmp_path.iterdir()
    written = file.read_bytes().rstrip(b"\0")
    file.write_bytes(written[:-9] + bytes(100))
    [orphan] = orphaned(tmp_path)
    assert (orphan.never_sent(an_open_hold(sent)), orphan.never_sent(an_open_hold(torn))) == (False, True)


@pytest.mark.parametrize("written", [LINES_BEFORE_PARTS, b""], ids=["settlements", "nothing"])
def test_journals_of_versions_that_noted_no_sending_do_not_say_what_was_sent(tmp_path: Path, written: bytes) -> None:
    Journal(tmp_path, 7).close()
    (tmp_path / "7-000001.journal").write_bytes(written)
    (tmp_path / "7-000001.journal").chmod(0o600)
    [orphan] = orphaned(tmp_path)
    assert not orphan.never_sent(an_open_hold(an_order(1, 1, 5)))


def test_what_was_in_memory_alone_when_the_machine_went_down_may_have_been_sent(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    sent, lost = an_order(1, 1, 5), an_order(1, 1, 5)
    for order in (sent, lost):
        journal.write_sending(order.request_id)
    journal.close()
    [file] = tmp_path.iterdir()
    # The disk has its first page, and not its last.
    written = file.read_bytes().rstrip(b"\0").replace(boot_id().encode(), b"another boot")
    file.write_bytes(written[: written.index(lost.request_id.hex.encode())] + bytes(100))
    [orphan] = orphaned(tmp_path)
    assert not orphan.never_sent(an_open_hold(lost))


def test_a_call_that_has_come_far_was_sent_whatever_the_journal_says(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    journal.write_sending(an_order(1, 1, 5).request_id)
    journal.close()
    [orphan] = orphaned(tmp_path)
    order = an_order(1, 1, 5)
    assert orphan.never_sent(an_open_hold(order))
    assert not orphan.never_sent(an_open_hold(order, Usage(10, 5)))


def test_a_segment_that_a_worker_began_after_the_folder_was_listed_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    earlier, journal = Journal(tmp_path, 6), Journal(tmp_path, 7)
    orders = [an_order(1, 1, 5) for _ in range(40)]
    earlier.write_sending(an_order(1, 1, 5).request_id)
    earlier.close()
    journal.write_sending(orders[0].request_id)
    found = orphaned(tmp_path)
    assert next(found).worker_id == 6
    # While the first is handled, the other goes on, and dies.
    for order in orders[1:]:
        journal.write_sending(order.request_id)
    journal.close()
    [orphan] = found
    assert not any(orphan.never_sent(an_open_hold(order)) for order in orders)


def test_a_torn_last_line_is_left_to_the_sweeper(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    journal.write(a_settlement(an_order(1, 1, 5), 5))
    journal.close()
    [file] = tmp_path.iterdir()
    written = file.read_bytes().rstrip(b"\0")
    file.write_bytes(written + written[:50] + bytes(100))
    [orphan] = orphaned(tmp_path)
    assert len(orphan.settlements) == 1


def test_a_journal_whose_calls_are_booked_leaves_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    order = an_order(1, 1, 5)
    journal.write(a_settlement(order, 5))
    journal.booked(order.request_id)
    journal.close()
    assert list(tmp_path.iterdir()) == []


def test_full_segments_are_removed_once_they_are_booked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal = Journal(tmp_path, 7)
    orders = [an_order(1, 1, 5) for _ in range(50)]
    for order in orders:
        journal.write(a_settlement(order, 5))
    assert len(list(tmp_path.iterdir())) > 5
    for order in orders:
        journal.booked(order.request_id)
    assert len(list(tmp_path.iterdir())) == 1


def test_one_call_that_is_never_booked_does_not_keep_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal = Journal(tmp_path, 7)
    journal.write(a_settlement(an_order(1, 1, 5), 5))
    for _ in range(50):
        order = an_order(1, 1, 5)
        journal.write(a_settlement(order, 5))
        journal.booked(order.request_id)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_long_call_does_not_keep_what_was_written_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 1_000)
    journal, long = Journal(tmp_path, 7), an_order(1, 1, 500)
    journal.write_sending(long.request_id)
    for charged in range(50):
        order = an_order(1, 1, 5)
        journal.write_sending(order.request_id)
        journal.write(a_settlement(order, 5))
        journal.booked(order.request_id)
        journal.write(a_settlement(long, charged, Ending.OWNER_DIED))
    assert len(list(tmp_path.iterdir())) <= 2
    journal.close()
    [orphan] = orphaned(tmp_path)
    assert [settlement.charge.amount for settlement in orphan.settlements][-1] == 49
    assert not orphan.never_sent(an_open_hold(long)), "its mark is gone with its first segment"


def test_after_its_end_a_journal_takes_nothing_more(tmp_path: Path) -> None:
    journal = Journal(tmp_path, 7)
    journal.close()
    with pytest.raises(OSError, match="closed"):
        journal.write(a_settlement(an_order(1, 1, 5), 5))


def test_a_journal_holds_no_content_and_is_for_its_owner_only(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "own", 7)
    journal.write(a_settlement(an_order(1, 1, 5), 5))
    [file] = (tmp_path / "own").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_a_full_disk_is_told_when_room_is_reserved_and_forgotten_when_there_is_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    journal = Journal(tmp_path, 7)
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", refuse)
        with pytest.raises(OSError, match="no space left"):
            journal.write(a_settlement(an_order(1, 1, 5), 5))
    journal.write(a_settlement(an_order(1, 1, 6), 6))
    journal.close()
    [orphan] = orphaned(tmp_path)
    assert [settlement.charge.amount for settlement in orphan.settlements] == [6]


def test_calls_under_way_have_half_a_segment_when_the_disk_is_full_and_all_is_read_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(journals, "SEGMENT_BYTES", 16_384)
    journal, written = Journal(tmp_path, 7), 0
    journal.reserve()
    with monkeypatch.context() as full:
        full.setattr(os, "posix_fallocate", refuse)
        while not journal.trouble:
            journal.write(a_settlement(an_order(1, 1, 5), written))
            written += 1
        assert "(No space left on device): new calls are refused" in journal.trouble
        in_its_first_half = written
        with suppress(OSError):
            while True:
                journal.write(a_settlement(an_order(1, 1, 5), written))
                written += 1
        assert written > 1.8 * in_its_first_half
        with pytest.raises(OSError, match="there is no other"):
            journal.write(a_settlement(an_order(1, 1, 5), written))
        journal.reserve()
        assert journal.trouble
        assert len(list(tmp_path.iterdir())) == 1
    journal.reserve()
    assert journal.trouble == ""
    journal.write(a_settlement(an_order(1, 1, 5), written))
    journal.close()
    [orphan] = orphaned(tmp_path)
    assert [settlement.charge.amount for settlement in orphan.settlements] == list(range(written + 1))


def test_a_line_longer_than_a_segment_is_refused_and_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journals, "SEGMENT_BYTES", 10)
    journal = Journal(tmp_path, 7)
    with pytest.raises(OSError, match="longer than its segment"):
        journal.write(a_settlement(an_order(1, 1, 5), 5))
    journal.close()
