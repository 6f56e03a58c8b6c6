"""Whatever is sent to the operator API by whatever key is answered as its document says."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import msgspec

from proofs.operators.api import Api, key_of_every_scope
from proofs.rig.checks import Check
from proofs.rig.console.place import Place, PlainConsole
from proofs.rig.database import fresh_database, migrated
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.table import ACTS
from tools.api_cases import ApiCases

SERVER_ERROR = 500
# No more: hypothesis reads source code while it draws, and two threads that do that at once upset Python's own parser
# ("AST constructor recursion depth mismatch"). A thread of its own, since this one is Playwright's.
SENDERS = 1


class CasesSent(msgspec.Struct):
    statuses: Counter[int] = msgspec.field(default_factory=Counter)
    checks: list[Check] = []

    @property
    def in_all(self) -> int:
        return self.statuses.total()

    @property
    def server_errors(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= SERVER_ERROR)


def cases_sent(stack: ExitStack, place: Place, examples: int, *, by_chance: bool) -> CasesSent:
    """For every act so many. Their deployment is their own: what they do to it is nobody else's matter."""
    url = place.wait_for(fresh_database(place.settings["TOLLKEEPER_DATABASE_URL"], "cases"))
    place.wait_for(asyncio.to_thread(migrated, url))
    own = dict(place.settings) | {"TOLLKEEPER_DATABASE_URL": url}
    keys = key_of_every_scope(place, own)
    console = stack.enter_context(PlainConsole(own))
    account = Api(console.port, keys[Scope.EVERYTHING]).post("/accounts", name="Ada").told["account"]
    cases, sent = ApiCases(console.base, keys), CasesSent()

    def send(act: Act[Any, Any]) -> tuple[Counter[int], Check]:
        statuses: Counter[int] = Counter()
        problem = ""
        try:
            cases.send(act, examples, lambda status: statuses.update([status]), by_chance=by_chance, account=account)
        except (Exception, BaseExceptionGroup) as found:
            problem = " ".join(str(each) for each in _each(found))
        return statuses, Check(f"{act.name} is answered as documented", not problem, problem[:2_000])

    with ThreadPoolExecutor(SENDERS) as senders:
        for statuses, check in senders.map(send, ACTS):
            sent.statuses += statuses
            sent.checks.append(check)
    return sent


def _each(problem: BaseException) -> Iterator[BaseException]:
    if isinstance(problem, BaseExceptionGroup):
        for inner in problem.exceptions:
            yield from _each(inner)
    else:
        yield problem
