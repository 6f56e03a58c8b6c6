"""The same request to move money, fifty times at once under one name: money moves once.

Rules of this file
1. Every act that moves money is tried, and every form of staff that does. One that nobody prepared here fails.
2. How much moves by one request is seen on a twin; by fifty at once exactly as much has to move.
3. Whoever is told that others are before them (409, 429) asks again with the same name, as programs do.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from threading import Barrier
from typing import Any
from uuid import uuid4

import msgspec
import pyotp

from proofs.operators.api import Api, ApiReply, operator_key
from proofs.operators.earnings import an_earner
from proofs.operators.furnished import filled
from proofs.operators.money_forms import FORMS, TYPED, FormSender
from proofs.operators.rooms import one_of_each
from proofs.operators.sessions import VisitorKind, session
from proofs.operators.staff import staff_person
from proofs.rig.checks import Check
from proofs.rig.console.place import Place, PlainConsole
from proofs.rig.console.residents import a_resident
from proofs.rig.patience import patience
from tollkeeper.console.pages import Page
from tollkeeper.console.staff.table import STAFF
from tollkeeper.core.people.logins import Role
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import Act
from tollkeeper.office.desks import Office
from tollkeeper.office.table import ACTS

AT_ONCE = 50
ASKED_AGAIN_SECONDS = 60.0
AGAIN_SECONDS = 0.1
BUSY = (409, 429)
# What a process of the console must not have for itself: two of them share the requests.
PROCESSES = {"TOLLKEEPER_CONSOLE_WORKERS": "2"}
Ids = Mapping[str, str]
# How much there is of everything that money is, and of what was put on record.
STANDING = """
select (select count(*) from lot), (select coalesce(sum(remaining), 0) from lot),
       (select count(*) from entry), (select coalesce(sum(amount), 0) from entry),
       (select coalesce(sum(debt), 0) from account_books),
       (select count(*) from cash_entry), (select coalesce(sum(usd_micros), 0) from cash_entry),
       (select count(*) from redemption_batch), (select count(*) from redemption_code),
       (select count(*) from top_up), (select count(*) from top_up_revocation),
       (select count(*) from reward), (select count(*) from reward where revoked_at is not null),
       (select count(*) from withdrawal), (select count(*) from withdrawal where state = 'approved'),
       (select count(*) from withdrawal where decided_at is not null),
       (select count(*) from audit)
"""


class Subject(msgspec.Struct, frozen=True):
    """What an act is done to, and what is asked."""

    ids: Ids
    fields: Mapping[str, Any]


REASON = {"reason": "a proof"}
# Nothing waits any more, and the second factor is old enough for cash.
UNASKED = "delete from withdrawal where id = $1 returning account_id"
OLD_FACTOR = """
update login set totp_confirmed_at = ledger_now() - interval '90 days', totp_last_step = 0 where account_id = $1
returning account_id
"""
# What is asked beside the reason, by act.
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "credit_account": {"usd": "10"},
    "extend_lot": {"until": "2099-01-01T00:00:00Z"},
    "make_codes": {"codes": 2, "usd": "5", "months": 9},
    "ask_withdrawal": {"usd": "0.10", "payee": "Bank of Ada"},
}


def approved(place: Place, ids: Ids) -> Ids:
    """By somebody else."""
    api = Api(place.console.port, _own_key(place, f"second-{uuid4().hex[:8]}"))
    assert api.post(f"/withdrawals/{ids['withdrawal']}/approve", "first", **REASON).status == 200
    return ids


def _own_key(place: Place, name: str) -> str:
    """Somebody's own, with a login behind it: what takes two people takes two of these."""
    return operator_key(place, name, Scope.MONEY, account=staff_person(place, Role.OPERATOR, name).account_id)


def disputed(place: Place, ids: Ids) -> Ids:
    """A call of somebody's, whose charge they hold to be wrong."""
    owner = a_resident(place, "Dora")
    return {**ids, **one_of_each(place, str(owner.person.account_id), owner.ids["request_id"])}


def with_a_code(place: Place, ids: Ids) -> Ids:
    """One to redeem."""
    [code] = place.codes(1, 100)
    return {**ids, "code": code}


def with_cash(place: Place, ids: Ids) -> Ids:
    """The inviter, who has cash, and a code of their second factor."""
    inviter: int = place.value(UNASKED, int(ids["withdrawal"]))
    secret = pyotp.random_base32()

    async def propose(desk: Office) -> bool:
        return await desk.front_desk.second_factors.propose(inviter, secret)

    assert place.operate(propose)
    place.rows(OLD_FACTOR, inviter)
    return {**ids, "account": str(inviter), "code": pyotp.TOTP(secret).at(datetime.now(UTC))}


# What has to be done before, by act.
BEFORE: Mapping[str, Callable[[Place, Ids], Ids]] = {
    "pay_cash": approved,
    "credit_disputed_call": disputed,
    "redeem_for": with_a_code,
    "ask_withdrawal": with_cash,
}


def subject(place: Place, act: Act[Any, Any]) -> Subject:
    """Somebody new, for whom it can be done."""
    ids: Ids = {name: str(number) for name, number in an_earner(place).items()}
    if act.name in BEFORE:
        ids = BEFORE[act.name](place, ids)
    known = {**REASON, **ids, **FIELDS.get(act.name, {})}
    return Subject(ids, {name: known[name] for name in act.asked if name in known})


def money_acts() -> list[Act[Any, Any]]:
    return [act for act in ACTS if act.moves_money]


def money_forms() -> list[Page]:
    return [page for page in STAFF if page.once]


def once_checked(stack: ExitStack, place: Place) -> Iterator[Check]:
    console = stack.enter_context(PlainConsole(dict(place.settings) | PROCESSES))
    key = _own_key(place, "till")
    moved = {}
    for act in money_acts():
        name = f"{act.name} {AT_ONCE} times at once"
        try:
            moved[act.name], detail = _act_moves(place, console.port, key, act)
        except (KeyError, AssertionError) as problem:
            detail = f"{type(problem).__name__} {problem}: prepare it in proofs/operators/once.py"
        yield Check(name, not detail, detail)
    for page in money_forms():
        act_name = FORMS.get(page.path, "")
        detail = f"say which act it is in proofs/operators/money_forms.py; there are {sorted(moved)}"
        if act_name in moved:
            sender = FormSender(place, console.port, session(place, VisitorKind.OPERATOR))
            detail = _form_moves(place, sender, page, act_name, moved[act_name])
        yield Check(f"POST {page.path} {AT_ONCE} times at once", not detail, detail)


def _act_moves(place: Place, port: int, key: str, act: Act[Any, Any]) -> tuple[list[int], str]:
    """What one request moves; and what is wrong with fifty, if anything."""

    def send(about: Subject, once: str, _: int = 0) -> ApiReply:
        return _answered(Api(port, key), act, about, once)

    twin, tried = subject(place, act), subject(place, act)
    before = _standing(place)
    assert send(twin, uuid4().hex).status == 200, act.name
    after_one = _standing(place)
    replies = _at_once(partial(send, tried, uuid4().hex))
    after_all = _standing(place)
    by_one, by_all = _moved(before, after_one), _moved(after_one, after_all)
    answers = {(reply.status, reply.body) for reply in replies}
    if not any(by_one):
        return by_one, "one request moved nothing"
    if len(answers) > 1 or by_all != by_one:
        return by_one, f"{len(answers)} answers, moved {by_all}, not {by_one}"
    return by_one, ""


def _answered(api: Api, act: Act[Any, Any], about: Subject, once: str) -> ApiReply:
    until = time.monotonic() + patience(ASKED_AGAIN_SECONDS)
    while True:
        reply = api.send(act.method, filled(act.path, about.ids), dict(about.fields), once=once)
        if reply.status not in BUSY or time.monotonic() > until:
            return reply
        time.sleep(AGAIN_SECONDS)


def _form_moves(place: Place, sender: FormSender, page: Page, act_name: str, by_one: list[int]) -> str:
    """What is wrong, if anything."""
    [act] = [act for act in ACTS if act.name == act_name]
    about = subject(place, act)
    path = filled(page.path, about.ids)
    form_id, fields = sender.form_id(path), {**about.fields, **TYPED.get(act_name, {})}
    before = _standing(place)
    replies = _at_once(lambda _: sender.send(path, fields, form_id))
    by_all = _moved(before, _standing(place))
    statuses = sorted({reply.status for reply in replies})
    wrong = by_all != by_one or any(status not in (200, 303, 429) for status in statuses)
    return f"moved {by_all}, not {by_one}; {statuses}" if wrong else ""


def _at_once(send: Callable[[int], Any]) -> list[Any]:
    """Fifty senders that wait for each other before they begin."""
    gate = Barrier(AT_ONCE)

    def begin(number: int) -> Any:
        gate.wait()
        return send(number)

    with ThreadPoolExecutor(AT_ONCE) as senders:
        return list(senders.map(begin, range(AT_ONCE)))


def _standing(place: Place) -> list[int]:
    [row] = place.rows(STANDING)
    return [int(value) for value in row.values()]


def _moved(before: list[int], after: list[int]) -> list[int]:
    return [later - earlier for earlier, later in zip(before, after, strict=True)]
