"""What commands say of second factors and passkeys that staff drop."""

from tollkeeper.cli.abuse_words import moment
from tollkeeper.office.factor_resets import ResetAsked


def asked_words(done: ResetAsked, factor: str) -> str:
    """`factor`: as "passkeys"."""
    account, reset = done.account, done.reset
    if reset is None:
        return f"account {account} has no {factor.removeprefix('a ')}: nothing was done"
    if reset.state == "done":
        return f"account {account} has no {factor.removeprefix('a ')} any more"
    return (
        f"reset {reset.id} asked for; another member of staff confirms it until {moment(reset.expires_at)}: "
        f"tollkeeper reset confirm {reset.id} --reason …"
    )
