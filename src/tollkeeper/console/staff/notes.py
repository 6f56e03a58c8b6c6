"""What pages of staff say after a form was taken: `visit.go("/staff/codes", done="codes-revoked")`."""

from collections.abc import Mapping

STAFF_NOTES: Mapping[str, str] = {
    "done": "Done, and on record in the audit trail.",
    "brand-changed": "Saved. Every page shows it within a second.",
    "webhook-tested": "A test event is on its way. Load this page again in a moment to see what came of it.",
    "webhook-again": "It is delivered once more, under the same id. Load this page again in a moment.",
    "webhook-removed": "The webhook is removed. Nothing is sent there any more.",
}
