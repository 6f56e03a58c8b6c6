"""What pages of staff say after a form was taken: `visit.go("/staff/codes", done="codes-revoked")`."""

from collections.abc import Mapping

STAFF_NOTES: Mapping[str, str] = {
    "done": "Done, and on record in the audit trail.",
    "dispute-paid": "Credited. The customer has it, and is told by mail.",
    "credited-before": "Somebody credited this charge before. Nothing was done now.",
    "dispute-declined": "Declined. The customer reads your words on the receipt.",
    "banned": "Banned, on every node within two seconds.",
    "ban-lifted": "The ban is lifted, on every node within two seconds.",
    "restriction-lifted": "The account has its full rate again, on every node within two seconds.",
    "nothing-to-lift": "There was nothing in force to lift. Nothing was done.",
    "reset-asked": "Asked for. Another member of staff confirms it within a day; the owner is told by mail.",
    "reset-done": "Dropped. The owner is told, and their sessions are over.",
    "reset-refused": "Refused. Everything stays as it is.",
}
