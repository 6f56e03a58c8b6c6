"""What the processes of the demo are told by their environment."""

import base64
import os


def fresh_secrets() -> dict[str, str]:
    """Secrets that no other deployment has."""
    return {
        "TOLLKEEPER_PEPPERS": "1:" + base64.b64encode(os.urandom(32)).decode(),
        "TOLLKEEPER_ENVELOPE_KEYS": "1:" + base64.b64encode(os.urandom(32)).decode(),
        # Their providers are on this machine.
        "TOLLKEEPER_PRIVATE_PROVIDERS": "true",
    }


def clean_environment() -> dict[str, str]:
    """This process's environment without any setting of Tollkeeper's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOLLKEEPER_")}
