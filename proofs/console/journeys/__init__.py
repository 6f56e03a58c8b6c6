"""The journeys of people through the console, in one table."""

from collections.abc import Mapping

from proofs.console.journeys import chat, factors, keys, looks, money, outside, passkeys, usage, way_in
from proofs.rig.console.travel import Journey

# As many as there are to be.
IN_ALL = 16
JOURNEYS: Mapping[int, tuple[str, Journey]] = {
    1: ("sign up, verify, redeem with a gift code, key, call, charge", way_in.from_nothing_to_the_first_call),
    2: ("sign in, lockout, sign out", way_in.signing_in_locked_out_and_signing_out),
    3: ("a new password by mail", way_in.a_new_password_by_mail),
    4: ("an app and a recovery code", factors.an_app_and_a_recovery_code),
    5: ("a passkey of a virtual device", passkeys.a_passkey),
    6: ("sessions, password and e-mail change", factors.sessions_password_and_email),
    7: ("a key edited, paused, rotated, revoked", keys.edited_rotated_and_revoked),
    8: ("usage filtered, receipt, CSV equal to the table", usage.filtered_with_receipt_and_csv),
    9: ("a coming price", money.a_coming_price),
    10: ("a statement that adds up", usage.a_statement_that_adds_up),
    11: ("invitation, top-up of the friend, reward, withdrawal", money.an_invitation_that_pays),
    12: ("the faucet", money.the_faucet),
    13: ("chat streams, stops and is charged", chat.streamed_stopped_and_charged),
    14: ("balance page and log site", outside.balance_and_cleaned_logs),
    15: ("Chinese, dark, 390 px", looks.chinese_dark_and_narrow),
    16: ("keys and top-up without script", keys.without_script),
}
