"""The accounts that a call could be given to, as this process sees them at one moment."""

from collections.abc import Callable, Mapping

from tollkeeper.core.pool.choice import PoolPlace
from tollkeeper.core.pool.health import Health

# No customer has this number: what one customer's calls met is left out of account.
NOBODY = 0


class Candidates:
    """The model's health at each account, and whose call it is."""

    __slots__ = ("_by", "_healths", "_is_fit", "_share", "now")

    def __init__(
        self, healths: Mapping[int, Health], is_fit: Callable[[int], bool], now: float, *, share: int, by: int
    ) -> None:
        """`is_fit`: whether an account can do what is asked, and was not tried. `share`: the processes among which
        limits are shared out."""
        self.now = now
        self._healths = healths
        self._is_fit = is_fit
        self._share = share
        self._by = by

    def may_take(self, account_id: int, place: PoolPlace) -> bool:
        return self._is_fit(account_id) and self._healths[account_id].takes_calls(
            place, self.now, self._share, by=self._by
        )

    def is_swift(self, account_id: int, place: PoolPlace) -> bool:
        """May take it, and does not keep others waiting."""
        return self.may_take(account_id, place) and not self._healths[account_id].is_silent(self.now)

    def is_spared(self, account_id: int, place: PoolPlace) -> bool:
        return self._is_fit(account_id) and self._healths[account_id].spares_a_call(
            place, self.now, self._share, by=self._by
        )

    def is_well(self, account_id: int, place: PoolPlace) -> bool:
        """For other calls than this."""
        return self._healths[account_id].takes_calls(place, self.now, self._share, by=NOBODY)

    def burden(self, account_id: int) -> float:
        return self._healths[account_id].burden(self.now)
