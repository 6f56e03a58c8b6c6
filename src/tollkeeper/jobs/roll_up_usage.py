"""Add the usage log up: what is settled for good at once, by day, by provider account, model and hour, and by price;
and each day once more when it is long over."""

from tollkeeper.ports.usage import Rollups


async def roll_up_usage(rollups: Rollups) -> int:
    """One round; how many days it counted once more."""
    while await rollups.add_up():
        pass
    while await rollups.add_up_providers():
        pass
    while await rollups.add_up_prices():
        pass
    days = await rollups.days_to_recount()
    for day in days:
        await rollups.recount(day)
    return len(days)
