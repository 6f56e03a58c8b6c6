"""Ask a provider whether it accepts an account's key, without spending anything on it."""

from tollkeeper.ports import ProviderAccount, Upstream, UpstreamFailed, UpstreamRequest, Vendor

PATIENCE_SECONDS = 10.0
REFUSED = frozenset({401, 402, 403})
UNKNOWN_PATH = frozenset({404, 405})


async def key_is_accepted(account: ProviderAccount, vendor: Vendor, upstream: Upstream) -> tuple[bool, str]:
    """Whether it is, and what came, in words. Where models cannot be listed, the next call must tell."""
    address, headers = vendor.models(account)
    try:
        answer = await upstream.send(UpstreamRequest(address, headers, b"", PATIENCE_SECONDS, method="GET"))
        try:
            status = vendor.meaning(answer.status, b"" if answer.status == 200 else await answer.read())
        finally:
            await answer.close()
    except UpstreamFailed as problem:
        return False, f"{address} could not be asked: {problem.failure.value}"
    return verdict(status, address)


def verdict(status: int, address: str) -> tuple[bool, str]:
    if 200 <= status < 300:
        return True, f"{address} answered {status}: its key is accepted"
    if status in REFUSED:
        return False, f"{address} answered {status}: its key is refused"
    if status in UNKNOWN_PATH:
        return True, f"{address} answered {status}: it cannot be tested there, so the next call will tell"
    return False, f"{address} answered {status}, which does not say whether its key is accepted"
