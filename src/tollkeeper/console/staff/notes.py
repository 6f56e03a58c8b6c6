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
    "model-added": "The model is offered. It holds on every node within two seconds.",
    "model-changed": "The model is changed. It holds on every node within two seconds.",
    "model-hidden": "The model is hidden: calls to it are refused as to one that does not exist. Its prices stay.",
    "model-unhidden": "The model is offered again, at the price that its book has for now.",
    "model-removed": "The model is removed, with its prices.",
    "price-announced": "The change is in the book and announced. Customers who use the model get a mail of it.",
    "price-withdrawn": "The change is withdrawn: it never takes effect. Whoever had a mail of it gets another.",
    "group-added": "The group is made. Put accounts into it on their own pages.",
    "group-changed": "The group is changed. It holds on every node within two seconds.",
    "group-removed": "The group is removed.",
    "codes-made": "The batch is made. Its codes are accepted as soon as they are exported.",
    "codes-revoked": "What was left of the batch is refused from now on. What was redeemed stays.",
    "announcement-made": "The announcement is kept, and is shown in its time.",
    "announcement-ended": "The announcement is shown no longer.",
}
