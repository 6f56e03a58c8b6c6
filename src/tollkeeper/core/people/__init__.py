"""People: logins, passwords, one-time codes, lockouts, mails, the faucet's rules."""
