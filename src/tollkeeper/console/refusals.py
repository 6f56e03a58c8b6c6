"""What pages say when something cannot be done: in the visitor's language, and where it belongs.

Rules of this file
1. The words are the console's own. A refusal that has none here is a fault, and a test finds it.
2. A refusal that is about one field is said beside it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tollkeeper.console.words import marked
from tollkeeper.core.people.emails import NotAnEmail
from tollkeeper.core.people.logins import (
    AccountClosed,
    AccountThere,
    BadInvite,
    BadName,
    EmailUnchanged,
    LinkNotValid,
    LoginDisabled,
    LoginRefusal,
    NotThisEmail,
    ReadingOnly,
    RoleMissing,
    SecondFactorMissing,
    SecondFactorNeeded,
    SecondFactorThere,
    SessionOver,
    TooBusy,
    TooManyAttempts,
    WrongCode,
    WrongCredentials,
)
from tollkeeper.core.people.passkeys import BadPasskeyName, PasskeyNotAdded, PasskeyRefused, PasskeysFull
from tollkeeper.core.people.passwords import BadPassword


class RefusalWords(NamedTuple):
    text: str
    # Beside which field of a form; empty: above all of them.
    field: str = ""
    status: int = 422


WORDS: Mapping[type[LoginRefusal], RefusalWords] = {
    WrongCredentials: RefusalWords(
        marked("The e-mail or the password is not right. Check both, or ask for a new password.")
    ),
    SecondFactorNeeded: RefusalWords(marked("Enter the code that your app shows now, or a recovery code."), "code"),
    WrongCode: RefusalWords(
        marked("The code is not right, or was used before. Wait for the next one, or use a recovery code."), "code"
    ),
    TooManyAttempts: RefusalWords(marked("There were too many attempts. Try again after %(until)s."), status=429),
    TooBusy: RefusalWords(
        marked("Too many people are signing in at this moment. Nothing was counted. Try again in a moment."), status=503
    ),
    LoginDisabled: RefusalWords(marked("This account is disabled. Write to support."), status=403),
    AccountClosed: RefusalWords(
        marked("This account was closed by its owner. Support can open it again for 30 days after that."), status=403
    ),
    EmailUnchanged: RefusalWords(marked("This is the e-mail of your account already. Nothing was changed."), "email"),
    NotThisEmail: RefusalWords(
        marked("This is not the e-mail of your account. Type it as it stands above. Nothing was done."), "email"
    ),
    SessionOver: RefusalWords(marked("You are signed out. Sign in again.")),
    RoleMissing: RefusalWords(marked("This is not for your account. Nothing was done."), status=403),
    ReadingOnly: RefusalWords(
        marked("You read as a customer, and nothing can be changed meanwhile. Stop reading first."), status=403
    ),
    LinkNotValid: RefusalWords(marked("This link is not valid any more. Ask for a new one.")),
    AccountThere: RefusalWords(marked("The account is there already. Sign in, or ask for a new password.")),
    SecondFactorMissing: RefusalWords(
        marked("This needs a second factor, and your account has none. Set one up first.")
    ),
    SecondFactorThere: RefusalWords(marked("Your account has a second factor already. Turn that off first.")),
    PasskeyRefused: RefusalWords(
        marked("This passkey was not accepted. Try again, or sign in with your e-mail and password.")
    ),
    PasskeyNotAdded: RefusalWords(
        marked("What your device answered cannot be used, or came too late. Nothing was added. Begin again.")
    ),
    PasskeysFull: RefusalWords(marked("You have 20 passkeys, and there is room for no more. Remove one first.")),
    BadPasskeyName: RefusalWords(marked("The name of a passkey has 1 to 60 characters."), "name"),
    BadName: RefusalWords(marked("A name has 1 to 120 characters."), "name"),
    BadInvite: RefusalWords(
        marked("The code of an invite has five characters. Copy it again, or leave it out."), "invite"
    ),
    NotAnEmail: RefusalWords(
        marked("We cannot write to this. It must read name@example.com, in plain letters."), "email"
    ),
    BadPassword: RefusalWords(
        marked("Choose 10 to 256 characters, and nothing that anybody would try first. A few words in a row are good."),
        "new_password",
    ),
}
