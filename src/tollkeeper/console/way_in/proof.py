"""Forms for which a session is not enough: the password once more, and a code where there is a second factor."""

from tollkeeper.accounts.people.second_factor import OwnerProof
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.logins import LoginRefusal, WrongCredentials


def proof_of(visit: Visit) -> OwnerProof:
    return OwnerProof(visit.form.exactly("password"), visit.form.text("code"))


def refuse_proof(visit: Visit, refusal: LoginRefusal) -> int:
    """Say on the form why it cannot be taken; the status for that."""
    if isinstance(refusal, WrongCredentials):
        visit.form.refuse("password", visit.gettext("This is not your password. Nothing was changed."))
        return 422
    return visit.refuse(refusal)
