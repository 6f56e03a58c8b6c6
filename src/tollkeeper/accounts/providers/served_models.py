"""Which models a provider account serves, decided when it is described.

Rules of this file
1. Nobody serves every model because nothing was said. Models are named, or all are asked for in so many words, or the
   address is a vendor's own: then it serves that vendor's family.
2. A model that is named must be in the catalog: what is not there is a slip.
"""

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

import msgspec

from tollkeeper.accounts.providers.description import BadDescription, host_of
from tollkeeper.core.catalog.families import family_at

NEAR_MOST = 3


class ServedModels(msgspec.Struct, frozen=True, kw_only=True):
    """By our id of a model, its name there; without them all of a family, or all there are."""

    models: Mapping[str, str] | None
    family: str | None


def served_models(
    models: Mapping[str, str] | None, *, every_model: bool, vendor: str, base_url: str, sold: Collection[str]
) -> ServedModels:
    """`sold`: our ids of the catalog's models. Raise BadDescription."""
    if models is not None and every_model:
        raise BadDescription("Name the models that it serves, or say that it serves all, not both.")
    if every_model:
        return ServedModels(models=None, family=None)
    if models is not None:
        require_sold(models, sold)
        return ServedModels(models=models, family=None)
    family = family_at(vendor, host_of(base_url))
    if family is None:
        raise BadDescription(
            f"Which models are served at {host_of(base_url)} cannot be known. Name each with --model, or say "
            "--all-models if it serves every model of the catalog. Nothing was changed."
        )
    return ServedModels(models=None, family=family)


def require_sold(models: Iterable[str], sold: Collection[str]) -> None:
    for ours in models:
        if ours not in sold:
            near = get_close_matches(ours, sold, NEAR_MOST)
            hint = f"Did you mean {' or '.join(near)}?" if near else "Add it first with `tollkeeper model add`."
            raise BadDescription(f"There is no model '{ours}' in the catalog. {hint} Nothing was changed.")


def model_names(given: Iterable[str]) -> dict[str, str]:
    """`gpt-4o=my-deployment`: our id, and the provider's name for it; an id alone has the same name there."""
    names: dict[str, str] = {}
    for text in given:
        ours, equals, theirs = text.partition("=")
        if not ours or (equals and not theirs):
            raise BadDescription(f"'{text}' names no model: write OUR=THEIRS, or the id alone where it is the same.")
        if ours in names:
            raise BadDescription(f"The model '{ours}' was given twice.")
        names[ours] = theirs or ours
    return names
