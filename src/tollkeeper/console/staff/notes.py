"""What pages of staff say after a form was taken: `visit.go("/staff/codes", done="codes-revoked")`."""

from collections.abc import Mapping

STAFF_NOTES: Mapping[str, str] = {
    "done": "Done, and on record in the audit trail.",
}
