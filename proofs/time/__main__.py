"""prove-time: what happens to the books and the log as months pass.

Shows: a year with top-ups, spending, expiring lots, prices that change in the middle of calls, cleanups of the log, and
workers and nodes that are killed now and then ends with clean books, and every call was charged at the price in force
when it was admitted; over millions of rows the log's pages and charts stay fast, and a month is cleaned while calls go
on unharmed.
"""

import random
from contextlib import ExitStack

import msgspec
import uvloop

from proofs.rig.proof import Run, prove, say, seed
from proofs.time import log, year
from proofs.time.killable_site import KillableSite
from tools.services import Postgres

LOG_P99_MS_MOST = 50.0
CHART_P99_MS_MOST = 100.0
CLEANUP_SECONDS_MOST = 5.0
HOLD_P99_RATIO_BELOW = 2.0
# What is kept, and what came since the last cleanup.
OLDEST_DAY_KEPT_MOST = 31 + 31
OF_THE_LOG = ("log_p99_ms", "chart_p99_ms", "cleanup_s", "hold_p99_ratio")


class Size(msgspec.Struct, frozen=True):
    year: year.Plan
    rows: int


SIZES = {
    "small": Size(year.Plan(days=365, step_days=5, calls_a_stop=40), 1_000_000),
    "full": Size(year.Plan(days=365, step_days=1, calls_a_stop=100), 10_000_000),
}
# Where nobody judges how long a page of the log takes.
ROWS_IN_CI = 200_000


def main(run: Run) -> int:
    asked = SIZES[run.size]
    rows = asked.rows if run.judges_timings else ROWS_IN_CI
    chance = random.Random(seed())
    with ExitStack() as stack:
        site = KillableSite(stack)
        site.build()
        lived = uvloop.run(year.live(site, asked.year, chance))
    prices = f"{lived.prices_exact}/{lived.prices_exact + len(lived.wrong)}"
    run.figures |= {"year_books": lived.books, "prices_exact": prices}
    with Postgres() as postgres:
        figures = uvloop.run(log.measure(postgres.url, rows, chance))
    run.figures |= {name: getattr(figures, name) for name in OF_THE_LOG}
    problems = judge(lived) + (judge_timings(figures) if run.judges_timings else [])
    for problem in problems:
        say(f"FAILED {problem}")
    return 1 if problems else 0


def judge(lived: year.Found) -> list[str]:
    say(
        f"{lived.calls:,} calls, {lived.changes} prices changed, {lived.expired_lots} lots expired, "
        f"the oldest day kept is {lived.oldest_day_kept} days ago"
    )
    problems = [f"at the wrong price: {each}" for each in lived.wrong[:10]]
    problems += [f"a job did not go well: {each}" for each in lived.jobs]
    if lived.books != "clean":
        problems.append("the books are not clean")
    if not (lived.prices_exact and lived.changes and lived.expired_lots):
        problems.append("nothing much happened in this year")
    if lived.oldest_day_kept > OLDEST_DAY_KEPT_MOST:
        problems.append("the log was not cleaned")
    return problems


def judge_timings(figures: log.Figures) -> list[str]:
    bounds = {
        "a page of the log, p99 ms": (figures.log_p99_ms, LOG_P99_MS_MOST),
        "a chart, p99 ms": (figures.chart_p99_ms, CHART_P99_MS_MOST),
        "a month's cleanup, seconds": (figures.cleanup_s, CLEANUP_SECONDS_MOST),
        "holds in a cleanup, p99 to before": (figures.hold_p99_ratio, HOLD_P99_RATIO_BELOW),
    }
    if figures.cleaned_days != log.CLEANED_DAYS:
        return [f"{figures.cleaned_days} days were cleaned, not {log.CLEANED_DAYS}"]
    return [f"{name}: {value}, not below {most}" for name, (value, most) in bounds.items() if value >= most]


if __name__ == "__main__":
    prove(main, "year_books", "prices_exact", *OF_THE_LOG)
