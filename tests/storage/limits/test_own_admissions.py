"""What a process remembers of its own admissions."""

from tollkeeper.core.limits.windows import SPAN_US, Window, Windows
from tollkeeper.storage.limits.own_admissions import OwnAdmissions

WINDOWS = Windows("1", (Window("key:1", 10),))


def times(own: OwnAdmissions, since: int) -> list[tuple[int, bool]]:
    return [(at_us, alone) for (at_us, _), alone in own.since(since)]


def test_those_after_so_many_others_are_told_in_order() -> None:
    own = OwnAdmissions()
    own.note([(1, WINDOWS), (2, WINDOWS), (3, WINDOWS)], 10, alone=False)
    own.note([(4, WINDOWS)], 11, alone=True)
    assert own.count == 4
    assert times(own, 0) == [(1, False), (2, False), (3, False), (4, True)]
    assert times(own, 2) == [(3, False), (4, True)]
    assert times(own, 4) == []


def test_what_is_older_than_a_window_is_forgotten_and_still_counted() -> None:
    own = OwnAdmissions()
    own.note([(1, WINDOWS), (2, WINDOWS)], 10, alone=False)
    own.note([(3, WINDOWS)], 11 + SPAN_US, alone=False)
    assert times(own, 0) == [(3, False)]
    assert times(own, 2) == [(3, False)]
    assert own.count == 3
