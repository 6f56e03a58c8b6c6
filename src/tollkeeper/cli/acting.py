"""How commands act: by the office's acts, here or through the operator API.

Here, commands have the service's own secrets, and are on record as the user of this machine. Where an operator key is
set they have its rights and its name, and need no other setting.
"""

import os

from tollkeeper.app.office import office
from tollkeeper.cli.operator_api import ask
from tollkeeper.cli.speak import settings_or_complain
from tollkeeper.office.act import Act, Result, Wish
from tollkeeper.settings import operator_access


async def perform(act: Act[Wish, Result], wish: Wish) -> Result:
    access = operator_access(os.environ)
    if access is not None:
        return await ask(access, act, wish)
    async with office(settings_or_complain()) as desks:
        return await act(desks, wish, desks.operator)
