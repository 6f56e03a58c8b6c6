"""The pages of keys.

Rules of this file
1. A key's text is the answer to the form that made it, and to nothing else: sent again, the form makes none.
2. A key of another account, or one that is revoked, is as unknown as one that is none (404).
"""

from starlette.responses import Response

from tollkeeper.accounts.keys import KEEP_SECONDS_MOST, IssuedKey, KeyWish, change_key, create_key, rotate_key
from tollkeeper.console.keys.key_form import KeyDraft, draft_of, models_on_offer, read_draft, read_limits
from tollkeeper.console.keys.standing import standing_of
from tollkeeper.console.pages import get, post
from tollkeeper.console.visit import Visit
from tollkeeper.ports import KeyChange, KeyOnFile, NotOnFile
from tollkeeper.ports.customers.desks import KEYS_MOST, ExpiryPassed, KeysFull, OldTextKept

# For how long an old text may be kept, in hours: none, an hour, a day, three days, seven.
KEEP_HOURS = (0, 1, 24, 72, 168)
REVOKED_SHOWN_MOST = 100


async def show(visit: Visit) -> Response:
    now = visit.desks.now()
    keys = [(key, standing_of(key, now)) for key in await visit.desks.keys.of_account(visit.account_id)]
    return visit.page(
        "keys/list.html",
        live=[each for each in keys if each[0].revoked_at is None],
        revoked=[each for each in keys if each[0].revoked_at is not None][:REVOKED_SHOWN_MOST],
        revoked_most=REVOKED_SHOWN_MOST,
    )


async def show_new(visit: Visit) -> Response:
    return await _form(visit, KeyDraft())


async def create(visit: Visit) -> Response:
    draft = read_draft(visit.form)
    limits = read_limits(visit, draft, await models_on_offer(visit))
    if limits is not None:
        wish = KeyWish(
            account_id=visit.account_id,
            name=limits.name,
            expires_at=limits.expires_at,
            quota=limits.quota,
            only_models=limits.only_models,
            only_networks=limits.only_networks,
            daily_budget=limits.daily_budget,
            monthly_budget=limits.monthly_budget,
        )
        try:
            issued = await create_key(wish, visit.desks.key_maker, visit.desks.keys, actor=visit.actor)
        except ExpiryPassed:
            _refuse_expiry(visit)
        except KeysFull:
            told = visit.gettext(
                "You have %(most)s keys. Revoke one that you do not use, then make another.", most=KEYS_MOST
            )
            visit.form.refuse("", told)
        else:
            return _issued(visit, issued, limits.name)
    return await _form(visit, draft)


async def show_one(visit: Visit) -> Response:
    key = await _mine(visit)
    return await _form(visit, draft_of(key), key)


async def change(visit: Visit) -> Response:
    key = await _mine(visit)
    draft = read_draft(visit.form)
    limits = read_limits(visit, draft, await models_on_offer(visit, key))
    if limits is not None:
        # A day that was not touched stays the very moment that it was.
        expires_at = key.expires_at if draft.expires_on == draft_of(key).expires_on else limits.expires_at
        wish = KeyChange(
            name=limits.name,
            expires_at=expires_at,
            quota=limits.quota,
            only_models=limits.only_models,
            only_networks=limits.only_networks,
            daily_budget=limits.daily_budget,
            monthly_budget=limits.monthly_budget,
        )
        try:
            await change_key(key.key_id, wish, visit.desks.keys, account_id=visit.account_id, actor=visit.actor)
        except ExpiryPassed:
            _refuse_expiry(visit)
        else:
            return visit.go("/keys", done="key-changed")
    return await _form(visit, draft, key)


async def show_rotate(visit: Visit) -> Response:
    return _rotation(visit, await _mine(visit))


async def rotate(visit: Visit) -> Response:
    key = await _mine(visit)
    hours = visit.form.text("keep_hours")
    if hours not in map(str, KEEP_HOURS):
        visit.form.refuse("keep_hours", visit.gettext("Choose one of these."))
        return _rotation(visit, key)
    seconds = min(int(hours) * 3_600, KEEP_SECONDS_MOST)
    desks = visit.desks
    try:
        issued = await rotate_key(
            key.key_id, seconds, desks.key_maker, desks.keys, account_id=visit.account_id, actor=visit.actor
        )
    except OldTextKept:
        visit.form.refuse(
            "keep_hours",
            visit.gettext(
                "The key from before the last rotation still works. Wait until it ends, or let both end at once."
            ),
        )
        return _rotation(visit, key)
    return _issued(visit, issued, key.name, kept_hours=int(hours))


async def pause(visit: Visit) -> Response:
    key = await _mine(visit)
    await visit.desks.keys.pause(key.key_id, account_id=visit.account_id, actor=visit.actor)
    return visit.go("/keys", done="key-paused")


async def resume(visit: Visit) -> Response:
    key = await _mine(visit)
    await visit.desks.keys.resume(key.key_id, account_id=visit.account_id, actor=visit.actor)
    return visit.go("/keys", done="key-resumed")


async def show_revoke(visit: Visit) -> Response:
    return visit.page("keys/revoke.html", key=await _mine(visit))


async def revoke(visit: Visit) -> Response:
    """Sent twice, it is done once, and the same is said."""
    key_id = visit.request.path_params["key_id"]
    await visit.desks.keys.revoke(key_id, account_id=visit.account_id, actor=visit.actor)
    return visit.go("/keys", done="key-revoked")


async def _mine(visit: Visit) -> KeyOnFile:
    """The key that the address names. Raise NotOnFile."""
    key_id = visit.request.path_params["key_id"]
    for key in await visit.desks.keys.of_account(visit.account_id):
        if key.key_id == key_id and key.revoked_at is None:
            return key
    raise NotOnFile("There is no such key.")


async def _form(visit: Visit, draft: KeyDraft, key: KeyOnFile | None = None) -> Response:
    models = await models_on_offer(visit, key)
    standing = None if key is None else standing_of(key, visit.desks.now())
    return visit.page("keys/form.html", draft=draft, key=key, standing=standing, models=models)


def _rotation(visit: Visit, key: KeyOnFile) -> Response:
    kept = key.former_until if key.former_until and key.former_until > visit.desks.now() else None
    return visit.page("keys/rotate.html", key=key, choices=KEEP_HOURS, kept_until=kept)


def _issued(visit: Visit, issued: IssuedKey, name: str, *, kept_hours: int | None = None) -> Response:
    return visit.page("keys/issued.html", issued=issued, name=name, kept_hours=kept_hours)


def _refuse_expiry(visit: Visit) -> None:
    visit.form.refuse("expires_on", visit.gettext("This day is over. Choose one that is to come."))


PAGES = (
    get("/keys", show),
    get("/keys/new", show_new),
    post("/keys/new", create, once=True),
    get("/keys/{key_id:int}", show_one),
    post("/keys/{key_id:int}", change),
    get("/keys/{key_id:int}/rotate", show_rotate),
    post("/keys/{key_id:int}/rotate", rotate, once=True),
    post("/keys/{key_id:int}/pause", pause),
    post("/keys/{key_id:int}/resume", resume),
    get("/keys/{key_id:int}/revoke", show_revoke),
    post("/keys/{key_id:int}/revoke", revoke),
)
