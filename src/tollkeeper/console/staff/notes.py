"""What pages of staff say after a form was taken: `visit.go("/staff/codes", done="codes-revoked")`."""

from collections.abc import Mapping

STAFF_NOTES: Mapping[str, str] = {
    "done": "Done, and on record in the audit trail.",
    "credited": "Credited. The lot stands below, and the reason on record.",
    "refunded": "Refunded. What it did to the account stands below; the money goes back where it came from.",
    "withdrawal-approved": "Approved. Somebody else makes the transfer and notes it as paid.",
    "withdrawal-paid": "Noted as paid. The customer reads the transfer's number.",
    "withdrawal-refused": "Refused. The cash stays with the account.",
    "reading-stopped": "You read as yourself again. When you began and stopped is in the audit trail.",
}
