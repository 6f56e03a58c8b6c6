"""Provider accounts: all of them, each with its health by model, what it earns, and what can be done with it."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response

from tollkeeper.accounts.providers.health import HealthTag
from tollkeeper.accounts.providers.live import LiveBreaker
from tollkeeper.console.pages import staff_get
from tollkeeper.console.staff.acting import acted
from tollkeeper.console.staff.hour_charts import every_hour, hour_charts
from tollkeeper.console.staff.list_links import has_scope
from tollkeeper.console.staff.sums import Sums, percent, sums_of
from tollkeeper.console.visit import Visit
from tollkeeper.core.people.operator_keys import Scope
from tollkeeper.office.figures import (
    AccountModelView,
    HoursWish,
    list_failures,
    list_figures_by_hour,
    list_figures_by_model,
)
from tollkeeper.office.provider_trials import ProviderTrial
from tollkeeper.office.provider_views import ProviderDetails
from tollkeeper.office.provider_wishes import ProviderWish
from tollkeeper.office.providers import list_providers, show_provider

# With the one that runs.
HOURS = 24
FILTERS = ("find", "vendor", "tag")
# The colour of a tag: nothing to do, something to look at, calls go wrong.
COLOURS: Mapping[HealthTag, str] = {
    HealthTag.WELL: "tag-good",
    HealthTag.IDLE: "",
    HealthTag.PARTLY: "tag-warn",
    HealthTag.HALF_OPEN: "tag-warn",
    HealthTag.FAILING: "tag-bad",
    HealthTag.OUT: "tag-bad",
    HealthTag.SUSPENDED: "tag-bad",
    HealthTag.PAUSED: "tag-warn",
    HealthTag.DRAINING: "tag-warn",
    HealthTag.NOT_CALLED: "tag-bad",
}


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """A model at an account. `breaker`: None where it is closed. `figures`: None where it had no call."""

    model: str
    name_there: str
    breaker: LiveBreaker | None
    figures: AccountModelView | None
    sums: Sums


async def show_all(visit: Visit) -> Response:
    page = await acted(visit, list_providers)
    asked = {name: visit.query.get(name, "").strip()[:64] for name in FILTERS}
    rows = page.data if page else []
    more = f"/staff/providers?{urlencode(asked | {'after': page.next})}" if page and page.next else ""
    return visit.page(
        "providers.html",
        rows=rows,
        more=more,
        asked=asked,
        vendors=visit.desks.office.provider_terms.vendors,
        tags=list(HealthTag),
        colours=COLOURS,
        percent=percent,
        may_change=has_scope(visit, Scope.CATALOG),
    )


async def show_one(visit: Visit) -> Response:
    return await account_page(visit, visit.request.path_params["name"])


async def account_page(visit: Visit, name: str, *, trial: ProviderTrial | None = None, just_done: str = "") -> Response:
    """An account's page; also as the answer to a form. Raise NotOnFile."""
    office, by, wish = visit.desks.office, visit.by, HoursWish(hours=HOURS - 1, account=name)
    details = await show_provider(office, ProviderWish(name=name), by)
    models = (await list_figures_by_model(office, wish, by)).data
    hours = (await list_figures_by_hour(office, wish, by)).data
    failures = (await list_failures(office, wish, by)).data
    figures_page = f"/staff/figures?{urlencode({'account': name, 'hours': HOURS - 1})}"
    return visit.page(
        "provider.html",
        details=details,
        row=details.standing,
        colours=COLOURS,
        models=_models(details, models),
        total=sums_of(models),
        figures_page=figures_page,
        pictures=hour_charts(every_hour(hours, failures, visit.desks.now(), HOURS), figures_page),
        trial=trial,
        just_done=just_done,
        may_change=has_scope(visit, Scope.CATALOG),
    )


def _models(details: ProviderDetails, figures: Sequence[AccountModelView]) -> list[ModelRow]:
    """What is named, and whatever had a call or is out: of a family, no others are known."""
    named = details.model_names or {}
    breakers = {breaker.model: breaker for breaker in details.standing.breakers if breaker.model is not None}
    counted = {row.model: row for row in figures if row.model}
    return [
        ModelRow(
            model=model,
            name_there=named.get(model, model),
            breaker=breakers.get(model),
            figures=counted.get(model),
            sums=sums_of([counted[model]]) if model in counted else Sums(),
        )
        for model in sorted({*named, *breakers, *counted})
    ]


PAGES = (staff_get("/staff/providers", show_all, Scope.READ),)
ONE = (staff_get("/staff/providers/{name}", show_one, Scope.READ),)
