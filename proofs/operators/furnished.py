"""One of everything that staff look at, and its id by the names that paths have for it.

Rules of this file
1. A parameter of a page or an act that is not known here is added to `KNOWN`, and to what `furnished` makes.
2. `name` is whatever the part of the path before it is about.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from proofs.operators.api import Api
from proofs.operators.earnings import an_earner
from proofs.operators.rooms import ONE_OF_EACH, one_of_each
from proofs.rig.console.place import Place
from proofs.rig.console.residents import a_resident
from tollkeeper.console.pages import Page

PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
ABOUT = re.compile(r"/([a-z-]+)/\{")
# By one word each: `account_id` is an account, too.
KNOWN = (
    *("account", "announcement", "key", "lot", "month", "group", "price", "batch", "top_up", "withdrawal", "reward"),
    *("ban", "request", "provider", "model", "operator_key", "delivery", "reading", *ONE_OF_EACH),
)
# Of pages whose address names something after the question mark.
QUERIES = {
    "/staff/models/one": "model={model}",
    "/staff/groups/one": "group={group}",
    "/staff/prices/model": "model={model}",
    "/staff/prices/change": "model={model}",
}
SINGULAR = {"customers": "account", "accounts": "account", "operator-keys": "operator_key", "providers": "provider"}
A_BAN = "192.0.2.77"


def furnished(place: Place, key: str) -> dict[str, str]:
    """`key`: of staff who may do everything."""
    api, resident, earner = Api(place.console.port, key), a_resident(place, "Rita"), an_earner(place)
    announced = {"english": "Maintenance", "chinese": "维护", "ends_at": "2999-12-31T00:00:00Z"}
    account = str(resident.person.account_id)
    assert api.post("/bans", ip=A_BAN, hours=1, reason="a proof").status == 200
    request = resident.ids["request_id"]
    return one_of_each(place, account, request) | {
        "account": account,
        "key": resident.ids["key_id"],
        "request": request,
        "top_up": resident.ids["top_up_id"],
        "announcement": str(api.post("/announcements", **announced).told["id"]),
        "lot": str(api.get(f"/accounts/{account}/lots").told["data"][0]["lot"]),
        "month": f"{datetime.now(UTC):%Y-%m}",
        "group": "standard",
        "price": str(place.value("select max(id) from price")),
        "batch": str(place.value("select max(id) from redemption_batch")),
        "withdrawal": str(earner["withdrawal"]),
        "reward": str(earner["reward"]),
        "ban": str(place.value("select max(id) from ban")),
        "provider": str(api.get("/providers").told["data"][0]["name"]),
        "model": "gpt-4o",
        "operator_key": "key-of-read",
        # It is asked for in forms alone, which nobody sends here.
        "delivery": "1",
        "reading": "1",
    }


def thing(name: str, path: str) -> str:
    """What a parameter is about: `account_id` is an account, and `name` below /providers a provider."""
    if name in ("name", "id", "number"):
        [*_, about] = ABOUT.findall(path.partition(f"{{{name}")[0] + "{") or [""]
        return SINGULAR.get(str(about), str(about).removesuffix("s").replace("-", "_"))
    if name == "request_id" and "/disputes/" in path:
        return "dispute"
    short = name.removesuffix("_id").removesuffix("_name")
    return {"customer": "account", "login": "account"}.get(short, short)


def filled(path: str, ids: Mapping[str, str]) -> str:
    """The address of a page or an act. Raise KeyError for a parameter that is not known here."""
    return PARAMETER.sub(lambda found: ids[thing(found[1], path)], path)


def shown_at(page: Page, ids: Mapping[str, str]) -> str:
    """The address of a page with something on it."""
    asked = QUERIES.get(page.path, "") if page.method == "GET" else ""
    return filled(page.path, ids) + (f"?{asked.format(**ids)}" if asked else "")


def parameters_of(path: str) -> list[str]:
    return [thing(name, path) for name in PARAMETER.findall(path)]
