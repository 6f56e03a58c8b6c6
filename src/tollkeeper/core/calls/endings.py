"""How a call ended, where several things happened to it.

Rules of this file
1. What was refused, or never sent, is refused, whoever was still there to hear it.
2. Otherwise the first who ended the call is right: somebody outside (the client, a time limit, the edge, an operator,
   the node), or the provider, well or badly.
3. A caller who is told of a failure before there is anything of use pays nothing: the call counts as refused. One who
   had left by then pays for the input, for nobody knows what the provider did with it.
"""

from tollkeeper.core.money.charge import Ending

# Endings that the caller is told of. What came before them is charged if it is of use, and otherwise nothing is.
FREE_WITHOUT_USE = frozenset({Ending.UPSTREAM_BROKE, Ending.NODE_STOPPED})


def ending_of(*, outside: Ending | None, provider: Ending | None, may_have_cost: bool, has_use: bool) -> Ending:
    """`outside`: as whom somebody outside ended it, if so. `provider`: how the provider's answer ended, if it did.
    `may_have_cost`: a provider has the order and has not refused it. `has_use`: something came that can be used."""
    if provider is Ending.REFUSED or not may_have_cost:
        return Ending.REFUSED
    first = outside or provider or Ending.UPSTREAM_BROKE
    return Ending.REFUSED if first in FREE_WITHOUT_USE and not has_use else first
