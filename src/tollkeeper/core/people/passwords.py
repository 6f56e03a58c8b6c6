"""Passwords: which are taken. Length is what counts; there are no rules of composition.

Rules of this file
1. 10 to 256 characters, counted as code points of what was typed.
2. What everybody tries first is refused, and so is one's own e-mail.
3. The same characters typed on another keyboard are the same password (NFKC).
"""

import unicodedata

from tollkeeper.core.people.logins import LoginRefusal

LENGTH_LEAST, LENGTH_MOST = 10, 256

# Of those that leaks show most often, the ones that are long enough.
_OFTEN_SEEN = """
    0123456789 0987654321 1122334455 11223344556677 1212121212 1231231231 123123123123 1234512345 123456123456
    1234567890 12345678900 12345678901 1234567890a 1234567890q 1234567891 12345678910 123456789a 123456789q 123456789z
    1234qwerasdf 1357924680 147258369a 1a2b3c4d5e 1g2w3e4r5t 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx3edc 1qazxsw23edc
    3rjs1la7qe 789456123a 9876543210 a123456789 a1b2c3d4e5 aa12345678 aa123456789 abc123456789 abcd123456 abcd12345678
    abcdefghij abcdefghijk admin12345 admin123456 administrator asd1234567 asdasdasdasd asdf123456 asdfghjkl1
    asdfghjkl123 asdfghjklzxcvbnm azerty12345 azertyuiop baseball123 basketball changeme123 charlie123 chocolate1
    computer123 dragon12345 facebook123 football123 g_czechout google12345 helloworld iloveyou12 iloveyou123
    internet123 letmein123 letmein1234 liverpool1 manchester master12345 michael123 monkey12345 myspace123 p@ssw0rd123
    pass123456 passw0rd12 passw0rd123 password01 password10 password11 password12 password123 password1234 password12345
    password123456 password99 passwordpassword playstation pokemon123 princess12 princess123 q1w2e3r4t5 q1w2e3r4t5y6
    qazwsxedc1 qazwsxedcrfv qazwsx123456 qq123456789 qwe1234567 qweasdzxc1 qweasdzxc123 qwer123456 qwerasdfzxcv
    qwert12345 qwerty1234 qwerty12345 qwerty123456 qwerty123456789 qwertyqwerty qwertyuiop qwertyuiop1 qwertyuiop123
    samsung123 secret12345 sunshine12 sunshine123 superman123 test123456 unknown123 welcome123 welcome1234
    whatever123 woaini1314 woaini1314520 zaq12wsxcde3 zaq1xsw2cde3 zxcvbnm123 zxcvbnm1234 zxcvbnmasdfghjkl
    """
COMMON = frozenset(_OFTEN_SEEN.split())


class BadPassword(LoginRefusal):
    """This password cannot be used; the message says why."""


def written(password: str) -> str:
    """The form in which a password is hashed."""
    return unicodedata.normalize("NFKC", password)


def require_good(password: str, *, email: str) -> None:
    """Raise BadPassword with what to do about it."""
    if not LENGTH_LEAST <= len(password) <= LENGTH_MOST:
        raise BadPassword(
            f"The password has {len(password)} characters; it must have {LENGTH_LEAST} to {LENGTH_MOST}. "
            "A few words in a row are easy to remember."
        )
    if not _is_text(password):
        raise BadPassword("The password has characters that are no text. Type it again.")
    plain = written(password).casefold().strip()
    if plain in COMMON or len(set(plain)) <= 2 or plain == email:
        raise BadPassword("This password is one of the first that anybody would try. Choose another.")


def for_checking(password: str) -> str:
    """What to compare with a hash: nothing, which no password is, where it can be none of ours."""
    return written(password) if len(password) <= LENGTH_MOST and _is_text(password) else ""


def _is_text(password: str) -> bool:
    return not any(unicodedata.category(character) == "Cs" for character in password)
