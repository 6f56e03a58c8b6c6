"""What a page says after a form was taken: `visit.go("/keys", done="key-revoked")`.

Rules of this file
1. The address has a name only, so nobody can make a page say things by a link.
"""

from collections.abc import Mapping

from tollkeeper.console.words import marked

NOTES: Mapping[str, str] = {
    "signed-out": marked("You are signed out."),
    "account-opened": marked("Your account is open. Sign in with your new password."),
    "password-reset": marked("Your password is changed, and every session is over. Sign in with the new one."),
    "password-changed": marked("Your password is changed. Every other session is over."),
    "email-changed": marked("Your account has the new e-mail. Every other session is over."),
    "email-changed-out": marked("The account has the new e-mail, and every session is over. Sign in with it."),
    "account-closed": marked(
        "Your account is closed, and its keys are revoked. Support can open it again for 30 days."
    ),
    "second-factor-off": marked("Your second factor is off. Every other session is over."),
    "passkey-added": marked("Your passkey is added. From now on it signs you in, without password and code."),
    "passkey-removed": marked("The passkey is removed. Every other session is over."),
    "session-ended": marked("That session is over."),
    "sessions-ended": marked("Every other session is over."),
    "key-changed": marked("The key is changed."),
    "key-paused": marked("The key is paused. Calls with it are refused until you resume it; those that run go on."),
    "key-resumed": marked("The key is resumed. Calls with it are taken again."),
    "key-revoked": marked("The key is revoked. Calls with it are refused from now on."),
    "topped-up": marked("The code is redeemed, and its quota is yours."),
    "topped-up-before": marked("You redeemed this code before. Nothing was added now; this is what it became then."),
    "notices-kept": marked("Kept. It holds from now on."),
    "withdrawal-asked": marked("Your withdrawal is asked for. We decide on it and pay it by hand."),
    "dispute-opened": marked("Thank you. A person looks at this charge, and the receipt tells you what came of it."),
    "dispute-credited": marked("You are right: nothing was delivered. The charge was credited to you just now."),
    "sent-before": marked(
        "This form was sent before, and a form counts once. Look whether it was done then; if not, send this one."
    ),
}
