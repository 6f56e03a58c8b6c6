"""The `azure` vendor: the same protocol at addresses of deployments, with a key and a version of their own."""

from urllib.parse import quote

from tollkeeper.core.calls.native import Dialect
from tollkeeper.ports import Headers, ProviderAccount
from tollkeeper.providers.vendors.openai import OpenAI

# The latest that is not a preview.
API_VERSION = "2024-10-21"
# Addresses that end so take the name of the deployment in the body, and no version.
UNVERSIONED = "/openai/v1"


class Azure(OpenAI):
    def address(self, account: ProviderAccount, model_id: str, path: str) -> str:
        base = account.base_url.rstrip("/")
        if base.endswith(UNVERSIONED):
            return super().address(account, model_id, path)
        deployment = quote(account.name_of(model_id) or model_id, safe="")
        return f"{base}/openai/deployments/{deployment}/{path}?api-version={_version(account)}"

    def speaks(self, dialect: Dialect, account: ProviderAccount) -> bool:
        # Addresses of deployments have chat alone.
        return super().speaks(dialect, account) and account.base_url.rstrip("/").endswith(UNVERSIONED)

    def models(self, account: ProviderAccount) -> tuple[str, Headers]:
        base = account.base_url.rstrip("/")
        if base.endswith(UNVERSIONED):
            return super().models(account)
        return f"{base}/openai/models?api-version={_version(account)}", self.credentials(account)

    def credentials(self, account: ProviderAccount) -> Headers:
        return (("api-key", account.secret.reveal()),)


def _version(account: ProviderAccount) -> str:
    return quote(account.api_version or API_VERSION, safe="")
