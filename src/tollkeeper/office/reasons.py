"""Which acts are asked why.

Rules of this file
1. Whatever changes something takes a reason, from every caller: page, operator API, command. It is in the audit trail.
2. One is needed for whatever moves money, touches a customer, or takes something away. So it is for every act that
   nothing is said of here.
3. It is welcome where something is made that nobody has yet, or something of ours is changed or put to use (`WELCOME`).
4. Whatever leaves everything as it is, is not asked (`LEAVES_AS_IT_IS`).
"""

from typing import Any

from tollkeeper.office.act import Act, Why

WELCOME = frozenset(
    {
        # Made: accounts, logins, and what is for sale.
        *("create_account", "open_login", "create_operator_key"),
        *("add_announcement", "create_group", "add_model", "add_provider", "add_webhook"),
        # Changed: another multiplier of a group needs a reason all the same, and so does a price without its notice.
        *("change_group", "change_model", "change_provider", "change_webhook", "change_brand", "enter_price"),
        # Put to use.
        *("rotate_provider_key", "resume_provider", "rotate_webhook_secret"),
    }
)
# Looking ahead, trying something out, and sending what was sent before.
LEAVES_AS_IT_IS = frozenset({"preview_price", "try_provider", "try_webhook", "deliver_again"})


def why_asked(act: Act[Any, Any]) -> Why:
    """Whether an act is to be asked why."""
    if act.method == "GET" or act.name in LEAVES_AS_IT_IS:
        return Why.NOT_ASKED
    return Why.WELCOME if act.name in WELCOME else Why.NEEDED
