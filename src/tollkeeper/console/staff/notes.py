"""What pages of staff say after a form was taken: `visit.go("/staff/codes", done="codes-revoked")`."""

from collections.abc import Mapping

STAFF_NOTES: Mapping[str, str] = {
    "done": "Done, and on record in the audit trail.",
    "provider-changed": "The account is changed. Nodes know within two seconds.",
    "provider-key": "It has its new key. Calls under way end with the old one: revoke that when they are over.",
    "provider-paused": "The account is paused. It gets no more calls, on every node within two seconds.",
    "provider-draining": "The account drains: its calls end, and it gets no more.",
    "provider-active": "The account is active, and gets calls again.",
    "provider-removed": "The account is removed, and its key with it. Revoke the key at the provider, too.",
}
