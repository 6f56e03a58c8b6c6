"""How long the server takes for each page of staff and each act that reads, warm, among a crowd.

Rules of this file
1. Lists are read at their beginning, on their next page, and by each filter that they have.
2. What reads all of something by its nature is not measured, and stands in `WHOLE` with the reason.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from urllib.parse import urlencode

import msgspec

from proofs.operators.api import Api, key_of_every_scope
from proofs.operators.crowd import Employed, employ
from proofs.operators.furnished import filled, shown_at
from proofs.rig.console.crowd import A_MODEL
from proofs.rig.console.place import Place, PlainConsole
from proofs.rig.console.timing import Asking, Crowd, gathered, told_p95, waits_of
from proofs.rig.proof import say
from tollkeeper.console.staff.table import STAFF
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.prices import preview_price
from tollkeeper.office.table import ACTS
from tollkeeper.office.wire import PREFIX

WHOLE = {
    "verify_audit": "it follows the chain from the first row to the last",
    "books_verdict": "it is as old as the books are long",
}
# Beside the first page, by act: what else is asked.
FILTERS: Mapping[str, tuple[Mapping[str, object], ...]] = {
    "list_accounts": (
        {"search": "customer-77@example.com"},
        {"search": "account 77"},
        {"search": "nobody of that name"},
        {"search": "sk-a"},
    ),
    "list_audit": (
        {"actor": "operator:anna"},
        {"action": "key."},
        {"subject": "account:17"},
        {"actor": "operator:anna", "action": "account.", "subject": "account:17"},
        {"action": "nothing."},
    ),
    "list_figures_by_hour": ({"hours": 24 * 7}, {"hours": 24 * 90, "account": "provider-7"}),
    "list_figures_by_model": ({"hours": 24 * 7}, {"hours": 24 * 90, "account": "provider-7"}),
    "list_logins": ({"staff_only": "true"}, {"email": "customer-77@example.com"}),
    "list_top_ups": ({"account": 1},),
    "list_withdrawals": ({"waiting": "false"}, {"account": 1}),
    "list_bans": ({"all": "true"}, {"ip": "10.0.0.7", "all": "true"}),
    "list_restrictions": ({"all": "true"},),
}
# What an act must be told that is not in its path.
NEEDED: Mapping[str, Mapping[str, object]] = {
    "show_model": {"model": "m1"},
    "explain_bans": {"ip": "10.0.0.7"},
    "list_price_history": {"model": "m1"},
    "show_price_form": {"model": "m1"},
}
# What it would have cost at twice the price.
PREVIEWED: Mapping[str, object] = {"model": A_MODEL, "multiplier": "2", "days": 7}
# No list, but a reckoning of the bill of every account that used the model: it has a bound of its own.
PREVIEW = f"a preview over {PREVIEWED['days']} days"
PREVIEW_MS_MOST = 2_500.0
# Where it is not 200: what is looked for is searched elsewhere.
STATUSES = {"/staff/find": 303}


def p95_of_everything(stack: ExitStack, place: Place, crowd: Crowd) -> dict[str, float]:
    """By path, in milliseconds; the console and its database are the crowd's own."""
    url, [busiest, *_] = place.wait_for(gathered(place.settings["TOLLKEEPER_DATABASE_URL"], crowd))
    employed = place.wait_for(employ(url, crowd.customers, busiest))
    own = dict(place.settings) | {"TOLLKEEPER_DATABASE_URL": url}
    keys = key_of_every_scope(place, own)
    console = stack.enter_context(PlainConsole(own))
    waits = {}
    for name, asking in askings(console.port, keys, employed):
        try:
            waits[name] = waits_of(console.port, place.url, employed.session, asking, times=crowd.times)
        except AssertionError as problem:
            say(f"FAILED {name}: {problem}")
            # Beyond every bound: it was not the page.
            waits[name] = [float("inf")]
    return told_p95(waits)


def askings(port: int, keys: Mapping[Scope, str], employed: Employed) -> Iterator[tuple[str, Asking]]:
    """Every page of staff, every act that reads, each with the key of its scope, and the preview of a price."""
    for page in STAFF:
        if page.method == "GET":
            yield page.path, Asking(path=shown_at(page, employed.ids), status=STATUSES.get(page.path, 200))
    for act in ACTS:
        if act.method != "GET" or act.name in WHOLE:
            continue
        api, headers = Api(port, keys[act.scope]), _signed(keys[act.scope])
        path, needed = filled(act.path, employed.ids), dict(NEEDED.get(act.name, {}))
        ways = [needed, *(needed | dict(more) for more in FILTERS.get(act.name, ()))]
        if "after" in act.asked and (after := api.get(_with(path, needed)).told["next"]):
            ways.append(needed | {"after": after})
        for way in ways:
            what = ", ".join(name if name == "after" else f"{name}={value}" for name, value in way.items())
            asking = Asking(path=PREFIX + _with(path, way), signed_in=False, headers=headers)
            yield f"{PREFIX}{act.path} {what}".strip(), asking
    path, body = PREFIX + preview_price.path, msgspec.json.encode(PREVIEWED).decode()
    headers = _signed(keys[preview_price.scope]) | {"Content-Type": "application/json"}
    yield PREVIEW, Asking(path=path, signed_in=False, headers=headers, body=body)


def _signed(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _with(path: str, query: Mapping[str, object]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
