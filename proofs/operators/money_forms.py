"""Forms of staff that move money, by path: which act each of them does. Its fields are those of the act's wish."""

from collections.abc import Mapping
from typing import Any

from proofs.rig.console.place import Place
from proofs.rig.console.wire import SESSION_COOKIE, Reply, Wire
from tollkeeper.app.console import site_of
from tollkeeper.console.seals import Seals
from tollkeeper.settings import load

FORMS: Mapping[str, str] = {
    "/staff/codes/new": "make_codes",
    "/staff/customers/{account:int}/credit": "credit_account",
    "/staff/customers/{account:int}/lots/{lot:int}/extend": "extend_lot",
    "/staff/customers/{account:int}/lots/{lot:int}/revoke": "revoke_lot",
    "/staff/disputes/{request_id}/credit": "credit_disputed_call",
    "/staff/top-ups/{top_up:int}/refund": "revoke_top_up",
    "/staff/withdrawals/{withdrawal:int}/approve": "approve_cash",
    "/staff/withdrawals/{withdrawal:int}/pay": "pay_cash",
    "/staff/withdrawals/{withdrawal:int}/refuse": "refuse_cash",
}
# What people type where programs say it otherwise, by act.
TYPED: Mapping[str, Mapping[str, str]] = {"extend_lot": {"until": "2099-01-01"}}


class FormSender:
    """Somebody of staff with a page open, whose form can be sent more often than a browser would."""

    def __init__(self, place: Place, port: int, session: str) -> None:
        self._place = place
        self._port = port
        self._session = session
        self._seals = Seals(site_of(load(place.settings)).secret)

    def form_id(self, path: str) -> str:
        """As the form's page would show it."""
        return self._seals.form_id(self._session, path)

    def send(self, path: str, fields: Mapping[str, Any], form_id: str) -> Reply:
        wire = Wire(self._port, self._place.url, "10.0.0.1")
        wire.cookies[SESSION_COOKIE] = self._session
        wire.token = self._seals.form_token(self._session)
        return wire.post(path, {name: str(value) for name, value in fields.items()} | {"form_id": form_id})
