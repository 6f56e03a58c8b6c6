"""Things with a table of their own, one of each: disputes, resets, webhooks and what they were told.

Rules of this file
1. Each is made by a statement, for whoever it is about ($1: an account, $2: a call of theirs).
"""

from proofs.rig.console.place import Place
from proofs.rig.patience import came_true

SETTLED_SECONDS = 30.0
IS_SETTLED = "select count(*) from usage where request_id = $1::text::uuid"
A_DISPUTE = """
insert into dispute (request_id, account_id, kind, note, charged)
select request_id, $1::bigint, 'too_much', 'It was less.', charged from usage where request_id = $2::text::uuid
returning request_id
"""
A_RESET = """
insert into factor_reset (account_id, what, reason, asked_by)
select $1::bigint, 'second_factor', 'a lost phone, after ' || $2::text, 'operator:somebody-else' returning id
"""
A_WEBHOOK = """
insert into webhook (url, kinds, secret_sealed, created_by, disabled_at, disabled_because)
select 'https://hooks.example/' || $1::bigint, array['account.balance_low'], '', $2::text, ledger_now(), 'a proof'
returning id
"""
# By what paths call them: a row whose id is what paths have.
ONE_OF_EACH = {"dispute": A_DISPUTE, "reset": A_RESET, "webhook": A_WEBHOOK}


def one_of_each(place: Place, account: str, request: str) -> dict[str, str]:
    """By what paths call them."""
    assert came_true(lambda: place.value(IS_SETTLED, request) == 1, within_seconds=SETTLED_SECONDS), "not settled"
    return {name: str(place.value(sql, int(account), request)) for name, sql in ONE_OF_EACH.items()}
