"""Use-cases of people: sign-up, sign-in, passwords, sessions, second factors, passkeys, staff."""
