"""Secrets of webhooks are sealed anew with all others, when the master key is rotated."""

import os
from datetime import timedelta

from tollkeeper.app.database import opened
from tollkeeper.app.parts import notifier_of
from tollkeeper.app.secrets import envelope_keys_of
from tollkeeper.settings import Settings
from tollkeeper.storage.customers.secret_desk import SqlSecretDesk
from tollkeeper.storage.envelope import EnvelopeKeys
from tollkeeper.storage.postgres.database import DatabaseRole
from tollkeeper.storage.webhooks.deliveries import SqlDeliveries
from tollkeeper.storage.webhooks.desk import SqlWebhookDesk

FORMER, SECRET = "whsec_AAAA", "whsec_BBBB"


async def test_both_secrets_of_a_webhook_open_under_the_new_master_key_alone(settings: Settings) -> None:
    fresh = os.urandom(32)
    both = EnvelopeKeys({**envelope_keys_of(settings).by_version, 2: fresh}, 2)
    notifier = notifier_of(settings)
    async with (
        opened(settings, DatabaseRole.CONSOLE) as console,
        opened(settings, DatabaseRole.WORKER) as worker,
    ):
        desk = SqlWebhookDesk(console, envelope_keys_of(settings))
        made = await desk.add("https://hooks.example.com/", ["provider.out"], "", FORMER, actor="x")
        await desk.rotate(made.id, SECRET, timedelta(days=1), actor="x")
        await desk.test(made.id, actor="x")
        resealed = await SqlSecretDesk(console, notifier, both).reseal(actor="x")
        assert (resealed.sealed >= 2, resealed.lost) == (True, [])
        [claimed] = await SqlDeliveries(worker, EnvelopeKeys({2: fresh})).claim([])
    await notifier.close()
    assert claimed.secrets == [SECRET, FORMER]
