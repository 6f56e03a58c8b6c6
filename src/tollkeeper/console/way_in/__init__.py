"""The way in: signing up, signing in and out, new passwords, second factors, passkeys, sessions; and the way out."""

from tollkeeper.console.way_in import closing, email_change, passkeys, reset, second_factor, security, sign_in, sign_up

WAY_IN = (
    *sign_up.PAGES,
    *sign_in.PAGES,
    *reset.PAGES,
    *security.PAGES,
    *second_factor.PAGES,
    *passkeys.PAGES,
    *email_change.PAGES,
    *closing.PAGES,
)
