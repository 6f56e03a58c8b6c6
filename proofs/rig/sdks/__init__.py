"""The SDKs that callers use, each in an environment of its own, and what each is asked to show."""
