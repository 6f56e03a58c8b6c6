"""What the chat's page invites to, before anything was said: by what its own key can spend."""

from tests.console.browser import Browser
from tests.console.calls import in_words
from tests.customers import Customers
from tests.people import Person

TOP_UP, IDEA, BOUND = "Top up to begin", "duplicate files", "What you have left is bound to other keys"


async def test_ideas_are_for_those_who_have_quota_that_the_chat_can_spend(
    signed_in: Browser, person: Person, townsfolk: Customers
) -> None:
    await townsfolk.a_model()

    async def invited() -> list[bool]:
        page = in_words((await signed_in.get("/chat")).text)
        return [words in page for words in (TOP_UP, BOUND, IDEA)]

    assert await invited() == [True, False, False]
    form = await signed_in.get("/faucet")
    await signed_in.post("/faucet", form_id=form.hidden()["form_id"])
    assert await invited() == [True, True, False]
    await townsfolk.credit(person.account_id, "10")
    assert await invited() == [False, False, True]
