"""What people like: language and theme, kept in cookies."""

from starlette.responses import Response

from tollkeeper.console import cookies
from tollkeeper.console.pages import Who, post
from tollkeeper.console.paths import own_path
from tollkeeper.console.visit import THEMES, Visit
from tollkeeper.console.words import LANGUAGES


async def keep(visit: Visit) -> Response:
    response = visit.go(own_path(visit.form.text("back")))
    wishes = ((cookies.LANGUAGE, "language", tuple(LANGUAGES)), (cookies.THEME, "theme", THEMES))
    for cookie, field, allowed in wishes:
        if (wish := visit.form.text(field)) in allowed:
            visit.house.cookies.write(response, cookie, wish, seconds=cookies.YEAR_SECONDS)
    return response


PAGES = (post("/preferences", keep, who=Who.ANYBODY),)
