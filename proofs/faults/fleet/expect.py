"""Expectations: what must have come of a scenario, as checks that a row of the table names."""

from collections import Counter
from collections.abc import Callable

from proofs.faults.fleet.scenario import Aftermath
from proofs.rig.checks import Check

# The balancer's own word for a node that died with a call.
NODE_LOST = "node_lost"
Expectation = Callable[[Aftermath], Check]


def all_served(aftermath: Aftermath) -> Check:
    failed = aftermath.failed
    return Check("every call is served", not failed, "; ".join(map(str, failed[:3])))


def no_stream_is_cut(aftermath: Aftermath) -> Check:
    cut = [one for one in aftermath.placed if one.is_cut]
    return Check("no answer is cut", not cut, "; ".join(map(str, cut[:3])))


def refused_only_with(*codes: str) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        others = Counter(
            f"{one.answer.status} {one.answer.code}"
            for one in aftermath.placed
            if one.is_refused and one.answer.code not in codes
        )
        return Check(f"nobody is refused but with {', '.join(codes)}", not others, str(dict(others)))

    return check


def served_share(least: float) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        share = aftermath.tally.served / aftermath.tally.calls
        return Check(f"at least {least:.1%} are served", share >= least, f"{share:.2%}")

    return check


def failed_at_most(each: int) -> Expectation:
    """So many for each fault: those that were in the hands of whatever died."""

    def check(aftermath: Aftermath) -> Check:
        most, failed = each * len(aftermath.happened), len(aftermath.failed)
        return Check(f"at most {each} calls fail with each fault", failed <= most, f"{failed} failed")

    return check


def back_within(seconds: float) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        worst = aftermath.worst_recovery_seconds
        return Check(f"back within {seconds:g} s", worst <= seconds, f"{worst:.1f} s", timed=True)

    return check


def refused_within(seconds: float) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        slowest = max((one.heard.seconds for one in aftermath.placed if one.is_refused), default=0.0)
        return Check(f"refused within {seconds:g} s", slowest <= seconds, f"{slowest:.1f} s", timed=True)

    return check


def memory_within(megabytes: int) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        grown = aftermath.memory_growth_bytes / 1e6
        return Check(f"memory grows by {megabytes} MB at most", grown <= megabytes, f"{grown:.0f} MB")

    return check


def nothing_said(aftermath: Aftermath) -> Check:
    """Acts say what went wrong in them, or nothing."""
    return Check("every act went as it must", not aftermath.said, "; ".join(aftermath.said))


def tries_at_most(each: float) -> Expectation:
    def check(aftermath: Aftermath) -> Check:
        share = aftermath.tally.attempts / aftermath.tally.calls
        return Check(f"at most {each} upstream tries a call", share <= each, f"{share:.3f}")

    return check


def none_swept(aftermath: Aftermath) -> Check:
    swept = aftermath.tally.in_flight
    return Check("no call is settled as a dead worker's", not swept, f"{swept} were")
