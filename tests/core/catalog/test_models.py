from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tests.core.test_keys import RECORD
from tollkeeper.core.calls.chat import read_chat
from tollkeeper.core.catalog.models import Kind, Model, Offer, Shelf
from tollkeeper.core.errors import InvalidParameter, ModelNotFound, StoreUnavailable, UnsupportedParameter
from tollkeeper.core.money.parts import PriceParts
from tollkeeper.core.money.prices import MILLIONTHS, Price, Rate

NOW = datetime(2026, 7, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
GROUPS = {"standard": MILLIONTHS, "gold": 800_000}


class Ordered(msgspec.Struct):
    model: str
    variant: str = ""

    def check_price(self, price: Price) -> None:
        return


def an_order(model_id: str, variant: str = "") -> Ordered:
    return Ordered(model_id, variant)


def a_price(effective_from: datetime = NOW, *, price_id: int = 1) -> Price:
    return Price(
        id=price_id, model_id="m", effective_from=effective_from, model=MILLIONTHS, completion=MILLIONTHS, cached=0
    )


MODEL = Model(id="m", kind=Kind.CHAT, introduced_at=NOW, only_groups=None, prices=(a_price(),))


def a_shelf(*models: Model) -> Shelf:
    return Shelf({model.id: model for model in models}, GROUPS)


offered_or_not = pytest.mark.parametrize(
    ("model_change", "caller_change", "offered"),
    [
        pytest.param({}, {}, True, id="open"),
        pytest.param({"prices": ()}, {}, False, id="never priced"),
        pytest.param({"prices": (a_price(NOW + SECOND),)}, {}, False, id="not priced yet"),
        pytest.param(
            {"prices": (a_price(NOW - SECOND), a_price(NOW + SECOND))}, {}, True, id="another price announced"
        ),
        pytest.param({"only_groups": frozenset({"gold"})}, {}, False, id="other group"),
        pytest.param({"only_groups": frozenset()}, {}, False, id="no group"),
        pytest.param({"only_groups": frozenset({"gold"})}, {"group": "gold"}, True, id="own group"),
        pytest.param({}, {"only_models": frozenset({"other"})}, False, id="left out"),
        pytest.param({}, {"only_models": frozenset({"m"})}, True, id="named"),
        pytest.param({}, {"only_models": frozenset()}, False, id="nothing named"),
        pytest.param(
            {"only_groups": frozenset({"gold"})}, {"only_models": frozenset({"m"})}, False, id="both must agree"
        ),
    ],
)


@offered_or_not
def test_a_model_is_listed_for_those_who_may_use_it(
    model_change: dict[str, object], caller_change: dict[str, object], offered: bool
) -> None:
    model = msgspec.structs.replace(MODEL, **model_change)
    caller = msgspec.structs.replace(RECORD, **caller_change)
    assert a_shelf(model).usable(caller, NOW) == ([model] if offered else [])


@offered_or_not
def test_a_model_is_found_by_those_for_whom_it_is_listed(
    model_change: dict[str, object], caller_change: dict[str, object], offered: bool
) -> None:
    model = msgspec.structs.replace(MODEL, **model_change)
    caller = msgspec.structs.replace(RECORD, **caller_change)
    if offered:
        assert a_shelf(model).find(an_order("m"), Kind.CHAT, caller, NOW).model is model
    else:
        with pytest.raises(ModelNotFound):
            a_shelf(model).find(an_order("m"), Kind.CHAT, caller, NOW)


def test_models_are_listed_in_the_order_of_the_shelf() -> None:
    models = [msgspec.structs.replace(MODEL, id=model_id) for model_id in ("b", "c", "a")]
    assert a_shelf(*models).usable(RECORD, NOW) == models


@pytest.mark.parametrize("model_id", ["", "M", "m ", "unknown"])
def test_a_model_that_is_not_there_is_not_found(model_id: str) -> None:
    with pytest.raises(ModelNotFound) as caught:
        a_shelf(MODEL).find(an_order(model_id), Kind.CHAT, RECORD, NOW)
    assert (caught.value.status, caught.value.code, caught.value.param) == (404, "model_not_found", "model")
    assert f"'{model_id}'" in caught.value.message


@pytest.mark.parametrize(
    ("model_change", "kind"),
    [
        pytest.param({"only_groups": frozenset({"gold"})}, Kind.CHAT, id="other group"),
        pytest.param({"prices": (a_price(NOW + SECOND),)}, Kind.CHAT, id="not priced yet"),
        pytest.param({"only_groups": frozenset({"gold"})}, Kind.IMAGE, id="other group, and of another kind"),
        pytest.param({"prices": ()}, Kind.IMAGE, id="not priced, and of another kind"),
    ],
)
def test_whether_others_may_use_a_model_is_not_told(model_change: dict[str, object], kind: Kind) -> None:
    hidden = a_shelf(msgspec.structs.replace(MODEL, **model_change))
    messages = set()
    for shelf in (hidden, a_shelf()):
        with pytest.raises(ModelNotFound) as caught:
            shelf.find(an_order("m"), kind, RECORD, NOW)
        messages.add(caught.value.message)
    assert len(messages) == 1


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.CHAT])
def test_a_model_of_another_kind_is_not_found_and_the_reason_is_told(kind: Kind) -> None:
    with pytest.raises(ModelNotFound, match=f"a model for chat calls, not for {kind}"):
        a_shelf(MODEL).find(an_order("m"), kind, RECORD, NOW)


@pytest.mark.parametrize(
    ("now", "price_id"),
    [
        pytest.param(NOW, 1, id="the first, from its instant"),
        pytest.param(NOW + SECOND - timedelta(microseconds=1), 1, id="the first, until the next"),
        pytest.param(NOW + SECOND, 2, id="the second, from its instant"),
        pytest.param(NOW + 2 * SECOND, 3, id="the third"),
        pytest.param(NOW + timedelta(days=365), 3, id="the last goes on"),
    ],
)
def test_an_offer_has_the_price_in_force_at_the_instant(now: datetime, price_id: int) -> None:
    prices = (a_price(NOW + SECOND, price_id=2), a_price(NOW + 2 * SECOND, price_id=3), a_price(NOW))
    shelf = a_shelf(msgspec.structs.replace(MODEL, prices=prices))
    assert shelf.find(an_order("m"), Kind.CHAT, RECORD, now).rate.price.id == price_id


@pytest.mark.parametrize(("group", "multiplier"), GROUPS.items(), ids=GROUPS)
def test_an_offer_has_the_multiplier_of_the_callers_group(group: str, multiplier: int) -> None:
    caller = msgspec.structs.replace(RECORD, group=group)
    offer = a_shelf(MODEL).find(an_order("m"), Kind.CHAT, caller, NOW)
    assert offer == Offer(MODEL, Rate(a_price(), multiplier))


def test_a_group_that_is_not_on_the_shelf_yet_is_waited_for_rather_than_guessed() -> None:
    caller = msgspec.structs.replace(RECORD, group="made a moment ago")
    with pytest.raises(StoreUnavailable):
        a_shelf(MODEL).find(an_order("m"), Kind.CHAT, caller, NOW)


def test_each_variant_has_its_own_price() -> None:
    small, large = (
        Price(
            id=id_,
            model_id="m",
            effective_from=NOW,
            model=id_ * MILLIONTHS,
            completion=MILLIONTHS,
            cached=MILLIONTHS,
            variant=variant,
        )
        for id_, variant in ((1, "1024x1024"), (2, "1792x1024 hd"))
    )
    model = Model(id="m", kind=Kind.IMAGE, introduced_at=NOW, only_groups=None, prices=(small, large))
    shelf = Shelf({"m": model}, {RECORD.group: MILLIONTHS})
    assert shelf.find(an_order("m", "1792x1024 hd"), Kind.IMAGE, RECORD, NOW).rate.price.id == 2
    assert shelf.usable(RECORD, NOW) == [model]
    with pytest.raises(InvalidParameter, match="'quality' must be one of hd for m at 1792x1024"):
        shelf.find(an_order("m", "1792x1024"), Kind.IMAGE, RECORD, NOW)
    with pytest.raises(ModelNotFound):
        shelf.find(an_order("m", "1024x1024"), Kind.IMAGE, RECORD, NOW - timedelta(seconds=1))


def test_an_order_is_asked_whether_the_price_has_all_that_it_wants() -> None:
    searching = read_chat(b'{"model":"m","messages":[{"role":"user","content":"Hi"}],"web_search_options":{}}')
    with pytest.raises(UnsupportedParameter, match="web_search has no price here"):
        a_shelf(MODEL).find(searching, Kind.CHAT, RECORD, NOW)
    priced = msgspec.structs.replace(a_price(), parts=PriceParts(tools={"web_search": 0}))
    offer = a_shelf(msgspec.structs.replace(MODEL, prices=(priced,))).find(searching, Kind.CHAT, RECORD, NOW)
    assert offer.rate.price is priced
