"""Many provider accounts at one provider: where calls fail on purpose, no single account is taken out for it."""

from tollkeeper.app import office
from tollkeeper.ports import NewProviderAccount
from tollkeeper.settings import load


async def add_accounts(settings: dict[str, str], base_url: str, secret: str, count: int) -> None:
    async with office(load(settings)) as desk:
        for number in range(count):
            account = NewProviderAccount(name=f"simulator-{number}", vendor="openai", base_url=base_url, secret=secret)
            await desk.providers.add(account, actor="tools")
