"""Quota in, and what it buys: top-ups, the faucet, prices."""

from tollkeeper.console.money import faucet, prices, top_up

MONEY = (*top_up.PAGES, *faucet.PAGES, *prices.PAGES)
