"""Deaths of workers, at each point of an act and of a recovery, and in any order."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.conftest import Stores
from tests.storage.ledger.crash_machine import STATEMENTS_MOST, UNHARMED, CrashMachine, Site
from tests.storage.ledger.wire import Break
from tollkeeper.storage.ledger.books import check_books

ON_WHICH_HOST = pytest.mark.parametrize("is_lost", [False, True], ids=["same host", "host lost"])
HOW_BROKEN = pytest.mark.parametrize("broken", Break, ids=lambda broken: broken.name.lower())


@pytest.fixture(scope="module")
def site(stores: Stores, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with pytest.MonkeyPatch.context() as hasty:
        hasty.setattr("tollkeeper.storage.postgres.batch.RETRY_SECONDS", (0.001,))
        opened = Site(stores, tmp_path_factory.mktemp("hosts"))
        yield opened
        opened.end()


@pytest.fixture(autouse=True)
def clean_books(site: Site) -> Iterator[None]:
    yield
    assert [verdict for verdict in site.run(check_books(site.worker)) if verdict.findings] == []


@pytest.fixture
def machine(site: Site) -> CrashMachine:
    """With three calls open: one that is held for, one that is marked as sent, and one that has a checkpoint, too."""
    made = CrashMachine()
    made.site = site
    made.begin()
    for amount in (5_000_000, 20_000_000, 40_000_000):
        made.hold(amount, None, False, UNHARMED)
    made.mark_as_sent(1)
    made.mark_as_sent(2)
    made.checkpoint(1, 7, None, False, UNHARMED)
    return made


@ON_WHICH_HOST
@HOW_BROKEN
@pytest.mark.parametrize("act", ["hold", "checkpoint", "settle"])
def test_a_death_in_an_act_leaves_every_call_settled_once(
    machine: CrashMachine, act: str, broken: Break, is_lost: bool
) -> None:
    recovery = UNHARMED | {"is_lost": is_lost}
    if act == "hold":
        machine.hold(30_000_000, broken, True, recovery)
    elif act == "checkpoint":
        machine.checkpoint(0, 3, broken, True, recovery)
    else:
        machine.settle([0, 2], 50, broken, True, recovery)
    assert machine.open == []


@ON_WHICH_HOST
@HOW_BROKEN
@pytest.mark.parametrize("statements_before", range(STATEMENTS_MOST))
def test_a_death_in_a_recovery_leaves_every_call_settled_once(
    machine: CrashMachine, statements_before: int, broken: Break, is_lost: bool
) -> None:
    machine.die({"broken": broken, "statements_before": statements_before, "is_lost": is_lost})
    assert machine.open == []


@HOW_BROKEN
def test_a_worker_that_lives_sends_again_and_nothing_is_booked_twice(machine: CrashMachine, broken: Break) -> None:
    machine.hold(30_000_000, broken, False, UNHARMED)
    machine.checkpoint(0, 3, broken, False, UNHARMED)
    machine.settle([0, 1, 2, 3], 50, broken, False, UNHARMED)
    assert machine.open == []
    machine.check()


def test_deaths_in_any_order_leave_every_call_settled_once(site: Site) -> None:
    class Machine(CrashMachine):
        pass

    Machine.site = site
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=10, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
