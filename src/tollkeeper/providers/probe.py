"""Ask a provider about an account by its list of models, without spending anything on it.

Rules of this file
1. An account that is not allowed to list models may well answer calls: what says so says nothing of the account.
"""

from tollkeeper.core.pool.health import Trouble
from tollkeeper.core.pool.provider_status import meaning_of
from tollkeeper.ports import ProviderAccount, Upstream, UpstreamFailed, UpstreamRequest, Vendor

PATIENCE_SECONDS = 10.0
REFUSED = frozenset({401, 402, 403})
UNKNOWN_PATH = frozenset({404, 405})
# OpenAI, with 401, of a key that is restricted to other things than the list of models.
NOT_FOR_LISTS = b"Missing scopes"


async def key_is_accepted(account: ProviderAccount, vendor: Vendor, upstream: Upstream) -> tuple[bool, str]:
    """Whether it is, and what came, in words. Where models cannot be listed, the next call must tell."""
    address, _ = vendor.models(account)
    try:
        status, body = await _list_models(account, vendor, upstream)
    except UpstreamFailed as problem:
        return False, f"{address} could not be asked: {problem.failure.value}"
    return verdict(status, address, body)


async def trouble_of(account: ProviderAccount, vendor: Vendor, upstream: Upstream) -> tuple[Trouble | None, str]:
    """What is wrong with the account, and what came, in words. None where nothing is, or nothing that this can tell."""
    try:
        status, body = await _list_models(account, vendor, upstream)
    except UpstreamFailed as problem:
        return Trouble.SERVER, f"its list of models: {problem.failure.value}"
    return trouble_in(status, body), f"its list of models was refused with {status}"


def trouble_in(status: int, body: bytes) -> Trouble | None:
    if 200 <= status < 300 or NOT_FOR_LISTS in body:
        return None
    return meaning_of(status).trouble


async def _list_models(account: ProviderAccount, vendor: Vendor, upstream: Upstream) -> tuple[int, bytes]:
    address, headers = vendor.models(account)
    answer = await upstream.send(UpstreamRequest(address, headers, b"", PATIENCE_SECONDS, method="GET"))
    try:
        body = b"" if answer.status == 200 else await answer.read()
        return vendor.meaning(answer.status, body), body
    finally:
        await answer.close()


def verdict(status: int, address: str, body: bytes = b"") -> tuple[bool, str]:
    if 200 <= status < 300:
        return True, f"{address} answered {status}: its key is accepted"
    if status in REFUSED and NOT_FOR_LISTS not in body:
        return False, f"{address} answered {status}: its key is refused"
    if status in UNKNOWN_PATH or status in REFUSED:
        return True, f"{address} answered {status}: it cannot be tested there, so the next call will tell"
    return False, f"{address} answered {status}, which does not say whether its key is accepted"
