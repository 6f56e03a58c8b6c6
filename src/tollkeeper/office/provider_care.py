"""Provider accounts at work: another key, pauses, and live trials."""

import msgspec

from tollkeeper.accounts.providers.description import BadDescription, check_key
from tollkeeper.core.people.logins import Actor
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.act import act
from tollkeeper.office.desks import Office
from tollkeeper.office.provider_trials import ProviderTrial, trial_of
from tollkeeper.office.provider_wishes import ProviderKeyWish, ProviderReason, ProviderResumeWish, ProviderTrialWish
from tollkeeper.office.wishes import Changed
from tollkeeper.ports import ProviderState


class KeyRotated(msgspec.Struct, frozen=True, kw_only=True):
    # Whether the account was suspended until now.
    suspension_lifted: bool


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    # Whether it was paused or draining until now, and whether it was suspended.
    changed: bool
    suspension_lifted: bool


@act("POST", "/providers/{name}/rotate-key", Scope.CATALOG)
async def rotate_provider_key(office: Office, wish: ProviderKeyWish, by: Actor) -> KeyRotated:
    """Give it another key, which the provider must accept. Calls under way end with the old one, new ones begin with
    the new one, on every node within two seconds."""
    check_key(wish.key)
    account = await office.providers.with_key(wish.name, wish.key)
    if not wish.untested:
        accepted, told = await office.probe_key(account)
        if not accepted:
            raise BadDescription(f"{wish.name} keeps the key that it has: with the new one, {told}.")
    await office.providers.set_key(wish.name, wish.key, given_for=account.base_url, actor=by.name)
    lifted = not wish.untested and await office.suspensions.lift(account.id, actor=by.name)
    return KeyRotated(suspension_lifted=lifted)


@act("POST", "/providers/{name}/pause", Scope.CATALOG)
async def pause_provider(office: Office, wish: ProviderReason, by: Actor) -> Changed:
    """Give it no more calls, on every node within two seconds, until it is resumed."""
    return Changed(await office.providers.set_state(wish.name, ProviderState.PAUSED, actor=by.name))


@act("POST", "/providers/{name}/drain", Scope.CATALOG)
async def drain_provider(office: Office, wish: ProviderReason, by: Actor) -> Changed:
    """Let the calls under way end and give it no more, to take it away afterwards."""
    return Changed(await office.providers.set_state(wish.name, ProviderState.DRAINING, actor=by.name))


@act("POST", "/providers/{name}/resume", Scope.CATALOG)
async def resume_provider(office: Office, wish: ProviderResumeWish, by: Actor) -> Resumed:
    """Give it calls again, also if it is suspended: the next call will tell whether its key is accepted."""
    changed = await office.providers.set_state(wish.name, ProviderState.ACTIVE, actor=by.name)
    record = await office.providers.record(wish.name)
    lifted = await office.suspensions.lift(record.id, actor=by.name)
    return Resumed(changed=changed, suspension_lifted=lifted)


@act("POST", "/providers/{name}/test", Scope.CATALOG)
async def try_provider(office: Office, wish: ProviderTrialWish, by: Actor) -> ProviderTrial:
    """Make live calls to it, at the provider's price, and say what works: its key, whole and streamed answers, tools,
    images, JSON. An accepted key lifts the account's suspension. It can take minutes where the provider is slow."""
    account = await office.providers.find(wish.name)
    if wish.model is not None and account.name_of(wish.model) is None:
        raise BadDescription(f"'{wish.name}' does not serve the model '{wish.model}'. No call was made.")
    trial = await trial_of(office, account, wish.model)
    lifted = trial.key_accepted and await office.suspensions.lift(account.id, actor=by.name)
    return msgspec.structs.replace(trial, suspension_lifted=lifted)


ACTS = (
    rotate_provider_key,
    pause_provider,
    drain_provider,
    resume_provider,
    try_provider,
)
