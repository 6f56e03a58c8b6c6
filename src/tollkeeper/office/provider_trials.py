"""Live trials of provider accounts: of those on file, and of those that are to be."""

from collections.abc import Sequence

import msgspec

from tollkeeper.accounts.providers.description import BadDescription
from tollkeeper.office.desks import Office
from tollkeeper.ports import AlreadyOnFile, NewProviderAccount, NotOnFile, ProviderAccount
from tollkeeper.ports.providers.desk import Finding
from tollkeeper.settings import Secret

# An account that is not on file has no number.
NO_NUMBER = 0


class ProviderTrial(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial. Without an accepted key, or a chat model to call, there are no findings."""

    key_accepted: bool
    # What the provider said to the key, in words.
    told: str
    suspension_lifted: bool
    model: str | None
    findings: Sequence[Finding]

    @property
    def answers(self) -> bool:
        """Whether it can serve anybody: what else it cannot do is a matter of what it is for."""
        return self.key_accepted and (not self.findings or any(finding.works for finding in self.findings))


async def trial_of(office: Office, account: ProviderAccount, model: str | None = None) -> ProviderTrial:
    """Live calls, at the provider's price. `model`: None for the first chat model that it serves."""
    accepted, told = await office.probe_key(account)
    if not accepted:
        return ProviderTrial(key_accepted=False, told=told, suspension_lifted=False, model=None, findings=[])
    called = model or await _first_chat_model(office, account)
    findings = [] if called is None else [finding async for finding in office.try_out(account, called)]
    return ProviderTrial(key_accepted=True, told=told, suspension_lifted=False, model=called, findings=findings)


async def trial_before_adding(office: Office, new: NewProviderAccount) -> ProviderTrial:
    """Raise BadDescription where it serves nobody, AlreadyOnFile before any call where its name is taken."""
    await _require_free(office, new.name)
    account = ProviderAccount(
        id=NO_NUMBER,
        name=new.name,
        vendor=new.vendor,
        base_url=new.base_url,
        secret=Secret(new.secret),
        models=new.models,
        family=new.family,
        rejects=new.rejects,
        passes=new.passes,
        api_version=new.api_version,
    )
    trial = await trial_of(office, account)
    if not trial.key_accepted:
        raise BadDescription(f"'{new.name}' was not added: {trial.told}.")
    if not trial.answers:
        said = "; ".join(f"{finding.what}: {finding.detail}" for finding in trial.findings)
        raise BadDescription(
            f"'{new.name}' was not added: its key is accepted, but no call of {trial.model} was answered ({said})."
        )
    return trial


async def _require_free(office: Office, name: str) -> None:
    try:
        await office.providers.record(name)
    except NotOnFile:
        return
    raise AlreadyOnFile(f"A provider account '{name}' exists already. No call was made.")


async def _first_chat_model(office: Office, account: ProviderAccount) -> str | None:
    known = await office.catalog.chat_models()
    return next((model_id for model_id in known if account.name_of(model_id) is not None), None)
