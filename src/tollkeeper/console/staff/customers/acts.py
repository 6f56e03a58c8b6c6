"""What staff do for a customer, or about one: rows of which the pages are made."""

from tollkeeper.console.staff.customers.subjects import look_at_account, look_at_key, look_at_lot, look_to_move
from tollkeeper.console.staff.deeds import DeedField, StaffDeed
from tollkeeper.office.abuse import lift_restriction
from tollkeeper.office.accounts import credit_account, disable_account, enable_account, set_group
from tollkeeper.office.customer_keys import pause_customer_key, resume_customer_key, revoke_customer_key
from tollkeeper.office.logins import end_login_sessions, send_login_reset, unlock_login
from tollkeeper.office.lots import extend_lot, revoke_lot
from tollkeeper.office.restricting import restrict_account

ACCOUNT = "/staff/customers/{account:int}"
KEY = f"{ACCOUNT}/keys/{{key:int}}"
LOT = f"{ACCOUNT}/lots/{{lot:int}}"
BACK = "/staff/customers/{account}"

ACCOUNT_DEEDS = (
    StaffDeed(
        path=f"{ACCOUNT}/credit",
        act=credit_account,
        look=look_at_account,
        title="Credit",
        words="Prepaid quota is added as a lot of its own. It pays what is owed first.",
        button="Credit it",
        back=BACK,
        done="credited",
        fields=(
            DeedField(name="usd", label="Amount in USD", placeholder="5.00"),
            DeedField(name="months", label="Calendar months until it expires", kind="number", value="9"),
            DeedField(
                name="source_id",
                label="Your own id of the payment",
                hint="The same id is credited once, whoever types it.",
                required=False,
            ),
        ),
    ),
    StaffDeed(
        path=f"{ACCOUNT}/group",
        act=set_group,
        look=look_to_move,
        title="Move to another group",
        words="The account has the prices and limits of its group, on every node within two seconds.",
        button="Move it",
        back=BACK,
        fields=(DeedField(name="group", label="Group"),),
    ),
    StaffDeed(
        path=f"{ACCOUNT}/restrict",
        act=restrict_account,
        look=look_at_account,
        title="Restrict",
        words="The account gets the low rate of restricted ones until then. Calls that run go on.",
        button="Restrict it",
        back=BACK,
        fields=(DeedField(name="hours", label="For how many hours", kind="number", value="24"),),
        is_grave=True,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/lift-restriction",
        act=lift_restriction,
        look=look_at_account,
        title="Lift the restriction",
        words="The account has its full rate again, on every node within two seconds.",
        button="Lift it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/end-sessions",
        act=end_login_sessions,
        look=look_at_account,
        title="Sign them out everywhere",
        words="Every session ends now. They sign in anew with their password.",
        button="End their sessions",
        back=BACK,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/unlock",
        act=unlock_login,
        look=look_at_account,
        title="Unlock",
        words="Locks that too many attempts at signing in or redeeming brought about end now.",
        button="Unlock it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/reset-password",
        act=send_login_reset,
        look=look_at_account,
        title="Send a link for a new password",
        words="The mail goes to the e-mail of the login, and to nobody else.",
        button="Send it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/disable",
        act=disable_account,
        look=look_at_account,
        title="Disable",
        words="Nobody can sign in, call, redeem or withdraw. Calls that run are finished and charged.",
        button="Disable it",
        back=BACK,
        is_grave=True,
    ),
    StaffDeed(
        path=f"{ACCOUNT}/enable",
        act=enable_account,
        look=look_at_account,
        title="Enable",
        words="Its keys work again, and its owner signs in anew.",
        button="Enable it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{KEY}/pause",
        act=pause_customer_key,
        look=look_at_key,
        title="Pause a key",
        words="Calls with it are refused until it is resumed, on every node within two seconds. Those that run go on.",
        button="Pause it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{KEY}/resume",
        act=resume_customer_key,
        look=look_at_key,
        title="Resume a key",
        words="Calls with it are taken again, on every node within two seconds.",
        button="Resume it",
        back=BACK,
    ),
    StaffDeed(
        path=f"{KEY}/revoke",
        act=revoke_customer_key,
        look=look_at_key,
        title="Revoke a key",
        words="Calls with it are refused from now on. This cannot be undone: its owner makes another.",
        button="Revoke it",
        back=BACK,
        is_grave=True,
    ),
    StaffDeed(
        path=f"{LOT}/extend",
        act=extend_lot,
        look=look_at_lot,
        title="Extend a lot",
        words="It expires later. One that expired less than a day ago comes back.",
        button="Extend it",
        back=BACK,
        fields=(DeedField(name="until", label="Expires at the beginning of (UTC)", kind="date"),),
    ),
    StaffDeed(
        path=f"{LOT}/revoke",
        act=revoke_lot,
        look=look_at_lot,
        title="Take a lot back",
        words="What is left of it is gone, and what was spent of it is owed. What a code brought is taken back by its "
        "top-up.",
        button="Take it back",
        back=BACK,
        is_grave=True,
    ),
)
