"""Which provider accounts are out by their breakers, from what the processes of the gateway tell.

Rules of this file
1. An account is out where every process that is heard of says so of the account as a whole: elsewhere it has calls.
2. One whose key was refused is not judged here: it is suspended, and that is told by itself.
"""

from collections.abc import Sequence

import msgspec

from tollkeeper.accounts.providers.live import BECAUSE
from tollkeeper.core.pool.breaker import BreakerState, Trouble
from tollkeeper.ports.providers.live import BreakerReport, ProcessReport


class PoolOutages(msgspec.Struct, frozen=True, kw_only=True):
    # By the name of the account: why, in words.
    out: dict[str, str]
    # Accounts of which at least one process says that they are not well.
    ill: frozenset[str]


def outages_in(reports: Sequence[ProcessReport]) -> PoolOutages:
    of_accounts = [
        [each for each in report.pool.breakers if each.model is None and each.trouble is not Trouble.CREDENTIAL]
        for report in reports
    ]
    ill = frozenset(each.account for told in of_accounts for each in told)
    open_in = [{each.account: each for each in told if each.state is BreakerState.OPEN} for told in of_accounts]
    everywhere = ill.intersection(*open_in)
    return PoolOutages(out={name: _words(open_in[0][name]) for name in sorted(everywhere)}, ill=ill)


def _words(breaker: BreakerReport) -> str:
    return f"no process gives it calls: {BECAUSE[breaker.trouble]}"
