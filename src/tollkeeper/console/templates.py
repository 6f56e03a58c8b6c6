"""Templates: Jinja, with every value escaped, one environment for each language."""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tollkeeper.console import charts, figures
from tollkeeper.console.assets import address_of
from tollkeeper.console.branding import branding_of
from tollkeeper.console.desks import Site
from tollkeeper.console.forms import ONCE_FIELD, TOKEN_FIELD
from tollkeeper.console.key_names import key_name
from tollkeeper.console.notes import NOTES
from tollkeeper.console.places import PLACES, TAB_BAR
from tollkeeper.console.staff.notes import STAFF_NOTES
from tollkeeper.console.staff.places import HEADINGS, places_of
from tollkeeper.console.words import LANGUAGES, TAGS, translations

ALL_NOTES: Mapping[str, str] = {**STAFF_NOTES, **NOTES}

if TYPE_CHECKING:
    from tollkeeper.console.visit import Visit


class Templates:
    def __init__(self, site: Site, paths: Collection[str]) -> None:
        """`paths` are those of the pages that there are."""
        there = [place for place in PLACES if place.path in paths]
        self._environments = {language: _environment(site, language) for language in LANGUAGES}
        for environment in self._environments.values():
            environment.globals.update(places=there, tab_bar=[place for place in there if place.path in TAB_BAR])

    def render(self, template: str, visit: "Visit", values: Mapping[str, Any]) -> str:
        own = {
            "visit": visit,
            "brand": branding_of(visit.desks.brand.known, visit.site.name),
            "form": visit.form,
            "wallet": visit.wallet,
            "path": visit.request.url.path,
            "note": ALL_NOTES.get(visit.query.get("done", ""), ""),
            "form_token": partial(_form_token, visit),
            "form_id": partial(_form_id, visit),
        }
        return self._environments[visit.language].get_template(template).render(own | dict(values))


def _environment(site: Site, language: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("tollkeeper.console", folder) for folder in ("pages_html", "staff_html")]),
        extensions=["jinja2.ext.i18n"],
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.install_gettext_translations(translations(language), newstyle=True)  # type: ignore[attr-defined]
    environment.globals.update(
        site=site,
        language=language,
        languages=LANGUAGES,
        language_tag=TAGS[language],
        asset=address_of,
        icon=icon,
        charts=charts,
        staff_places_of=places_of,
        staff_headings=HEADINGS,
    )
    environment.filters.update(
        browser=figures.browser,
        usd=figures.usd,
        exact=figures.exact,
        usd_cell=figures.usd_cell,
        usd_fine=figures.usd_fine,
        two_decimals=figures.two_decimals,
        key_name=partial(key_name, language=language),
        number=partial(figures.number, language=language),
        day=partial(figures.day, language=language),
        moment=partial(figures.moment, language=language),
    )
    return environment


def icon(name: str) -> Markup:
    """A picture that says nothing which is not said in words beside it."""
    return Markup('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>').format(
        address_of("icons.svg"), name
    )


def _form_token(visit: "Visit") -> Markup:
    """Stands in every form that is posted."""
    return _hidden(TOKEN_FIELD, visit.house.seals.form_token(visit.bound_to))


def _form_id(visit: "Visit", path: str) -> Markup:
    """Stands in every form whose page is taken once; `path` is where it is posted to."""
    return _hidden(ONCE_FIELD, visit.house.seals.form_id(visit.bound_to, path))


def _hidden(name: str, value: str) -> Markup:
    return Markup('<input type="hidden" name="{}" value="{}">').format(name, value)
