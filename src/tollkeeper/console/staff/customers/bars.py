"""A lot with a bar of what is left of it."""

import msgspec
from markupsafe import Markup

from tollkeeper.console import charts, figures
from tollkeeper.office.lots import LotView


class LotBar(msgspec.Struct, frozen=True):
    lot: LotView
    meter: Markup


def bar_of(lot: LotView) -> LotBar:
    left, whole = lot.remaining.micro_quota, lot.granted.micro_quota
    share = f"{figures.usd(left)} of {figures.usd(whole)}"
    return LotBar(lot, charts.meter(left, whole, told=share, warn=lot.is_expired))
