"""This deployment, as the gateway's own pages speak of it."""

import msgspec


class GatewaySite(msgspec.Struct, frozen=True, kw_only=True):
    """Addresses have no slash at their end; one that is empty is not there."""

    # Of the service, as people know it.
    name: str
    main_url: str
    backup_url: str = ""
    billing_url: str = ""
    console_url: str = ""
    docs_url: str = ""
    # After so long a call that is not streamed is cut on the main address, and on the backup address.
    cut_seconds: int
    longest_seconds: int

    @property
    def sdk_url(self) -> str:
        """What most SDKs want."""
        return f"{self.main_url}/v1"
