"""nginx before the same upstream: what a proxy costs that does nothing else, written in C."""

import shutil
from collections.abc import Sequence
from urllib.parse import urlsplit

from proofs.rig.measuring.processes import listeners
from tools.services.process import Server

# Debian keeps servers off the PATH of those who are not root.
PLACES = "/usr/local/sbin:/usr/sbin"
KEPT_CONNECTIONS = 256
CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_max_body_size 8m;
    client_body_buffer_size 256k;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/unused-1;
    uwsgi_temp_path {folder}/unused-2;
    scgi_temp_path {folder}/unused-3;
    upstream provider {{
        server {upstream};
        keepalive {kept};
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://provider;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Authorization "Bearer {provider_key}";
        }}
    }}
}}
"""


class Nginx(Server):
    """A `proxy_pass` to an upstream of the form http://host:port/v1, one worker, as this user's own process."""

    name = "nginx"

    def __init__(self, upstream: str, provider_key: str) -> None:
        super().__init__()
        self._file = self.folder / "nginx.conf"
        self._file.write_text(
            CONFIGURATION.format(
                folder=self.folder,
                upstream=urlsplit(upstream).netloc,
                kept=KEPT_CONNECTIONS,
                port=self.port,
                provider_key=provider_key,
            )
        )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def command(self) -> Sequence[str]:
        program = shutil.which("nginx") or shutil.which("nginx", path=PLACES)
        if program is None:
            raise FileNotFoundError("nginx is not installed. Run 'make setup'.")
        return [program, "-c", str(self._file), "-e", "stderr"]

    def is_ready(self) -> bool:
        return bool(listeners(self.port))
