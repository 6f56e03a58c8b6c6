"""Legal pages: what the operator must tell, for everybody to read."""

from functools import partial

from starlette.responses import Response

from tollkeeper.console.branding import LEGAL_TITLES
from tollkeeper.console.markdown import rendered
from tollkeeper.console.pages import Who, get
from tollkeeper.console.visit import Visit
from tollkeeper.ports import NotOnFile


async def show(name: str, visit: Visit) -> Response:
    text = visit.desks.brand.known.legal.get(name)
    if text is None:
        raise NotOnFile("There is no such page.")
    return visit.page("legal.html", name=name, text=rendered(text))


PAGES = tuple(get(f"/legal/{name}", partial(show, name), who=Who.ANYBODY) for name in LEGAL_TITLES)
