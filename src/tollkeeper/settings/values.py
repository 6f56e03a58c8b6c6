"""The settings: what each is for, and what it is where nobody set it."""

import hashlib
import re
import socket
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from tollkeeper.settings.journal_place import FORMER_FOLDER, usual_journal_folder
from tollkeeper.settings.secret import Secret
from tollkeeper.settings.terms import Terms

# In an address, behind the login.
OTHER_SERVERS = re.compile(r",[^/?]*")


class Settings(Terms, frozen=True, kw_only=True):
    database_url: Annotated[
        Secret,
        Meta(
            description="Address of PostgreSQL: postgresql://user:password@host:port/name; several with commas between "
            "them, host:port,host:port, where another takes over when one dies."
        ),
    ]
    redis_url: Annotated[
        Secret,
        Meta(
            description="Address of Redis: redis://host:port/0; redis+sentinel://host:port,host:port/service/0 where "
            "Sentinel knows it; redis+cluster://host:port,host:port for a Cluster. Redis may be away; the service "
            "goes on."
        ),
    ]
    peppers: Annotated[
        Secret,
        Meta(
            description="Secrets under which API keys are digested: 1:BASE64, at least 32 bytes each. To rotate, add "
            "2:BASE64 behind a comma; keys made under older versions go on working while those are listed. "
            "`tollkeeper pepper retire` says what takes a version's place (mark:BASE64)."
        ),
    ]
    envelope_keys: Annotated[
        Secret,
        Meta(
            description="Master keys that seal provider keys at rest: 1:BASE64, exactly 32 bytes each. To rotate, add "
            "2:BASE64 behind a comma, on all nodes."
        ),
    ]
    provider_domain: Annotated[
        str, Meta(min_length=1, description="The platform's own domain: `owned_by` in the model list.")
    ] = "tollkeeper.local"
    cell: Annotated[
        str,
        Meta(
            pattern="^[0-9A-Za-z]$",
            description="The character after `sk-` in keys made here: names this cell.",
        ),
    ] = "a"

    host: Annotated[str, Meta(description="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 8080
    workers: Annotated[int, Meta(ge=1, le=64, description="Worker processes; one for each core is a good start.")] = 1
    node_name: Annotated[
        str,
        Meta(description="Name of this node, unique among those that share a database. Default: host name and port."),
    ] = ""

    main_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Host names of the main address, with or without port. None: main answers to any name."),
    ] = ()
    backup_hosts: Annotated[tuple[str, ...], Meta(description="Host names of the backup address.")] = ()
    billing_hosts: Annotated[
        tuple[str, ...],
        Meta(description="Host names of the billing address. None: main serves the deprecated balance endpoints."),
    ] = ()
    agent_hosts: Annotated[tuple[str, ...], Meta(description="Host names of reseller addresses.")] = ()

    connections: Annotated[
        int, Meta(ge=128, description="Connections that one worker process keeps open to callers, busy or idle.")
    ] = 10_000
    idle_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="How long a connection may be idle, or take to send its headers. Longer than the balancer's.",
        ),
    ] = 75.0

    crowded_idle_seconds: Annotated[
        float,
        Meta(
            gt=0,
            description="How long a connection may be without a call once half of them are taken; less, the fuller it "
            "is. So connections that never send a whole request do not keep callers out.",
        ),
    ] = 10.0

    front_host: Annotated[str, Meta(description="Address that `tollkeeper front` listens on.")] = "127.0.0.1"
    front_port: Annotated[int, Meta(ge=1, le=65535, description="Port that `tollkeeper front` listens on.")] = 8000
    front_certificate: Annotated[
        str, Meta(description="PEM file with the front's certificate and its key. None: it speaks plain HTTP.")
    ] = ""
    front_connections_per_ip: Annotated[
        int, Meta(ge=1, description="Connections that the front takes from one IP (IPv6: its /64).")
    ] = 200
    head_seconds: Annotated[
        float, Meta(gt=0, description="How long a request's head may take to arrive at the front.")
    ] = 10.0

    metrics_host: Annotated[
        str,
        Meta(
            description="Address that the metrics are told on, to whoever asks: keep it to this machine or to the "
            "network of your Prometheus."
        ),
    ] = "127.0.0.1"
    metrics_port: Annotated[
        int,
        Meta(
            ge=0,
            le=65535,
            description="Port where `tollkeeper serve` tells its metrics, of all its worker processes. 0: nowhere.",
        ),
    ] = 0
    console_metrics_port: Annotated[int, Meta(ge=0, le=65535, description="The same for `tollkeeper console`.")] = 0
    work_metrics_port: Annotated[int, Meta(ge=0, le=65535, description="The same for `tollkeeper work`.")] = 0

    otel_endpoint: Annotated[
        str,
        Meta(
            pattern="^(https?://[^\\s?#@]+)?$",
            description="OpenTelemetry collector that `tollkeeper serve` sends traces and metrics to, by OTLP over "
            "HTTP: http://127.0.0.1:4318. Needs the extra tollkeeper[otel]. None: nothing is sent.",
        ),
    ] = ""
    otel_headers: Annotated[
        Secret,
        Meta(
            description="Headers for the collector, as OpenTelemetry writes them: name=value,name=value. A value may "
            "be percent-encoded."
        ),
    ] = Secret("")
    otel_sample_ratio: Annotated[
        float, Meta(ge=0, le=1, description="Part of the calls that traces are made of. Metrics are of all calls.")
    ] = 1.0
    otel_seconds: Annotated[
        float, Meta(ge=0.1, le=300, description="How often traces and metrics are sent to the collector.")
    ] = 10.0
    otel_service_name: Annotated[
        str,
        Meta(min_length=1, max_length=100, description="What traces and metrics call this service (`service.name`)."),
    ] = "tollkeeper"

    trusted_proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Addresses of your own balancers and of the console, as 192.0.2.7 or 10.0.7.0/28, and no more: "
            "only from these is X-Forwarded-For believed, and these are never banned. None: the client is who connects."
        ),
    ] = ()
    invalid_calls: Annotated[
        int, Meta(ge=1, description="Invalid calls in 60 seconds after which an IP is banned (IPv6: its /64).")
    ] = 300
    ban_seconds: Annotated[
        int, Meta(ge=1, description="How long the first ban of an IP lasts; each further one lasts twice as long.")
    ] = 3_600
    ban_seconds_most: Annotated[int, Meta(ge=1, description="How long a ban lasts at most.")] = 86_400
    ban_memory_seconds: Annotated[
        int, Meta(ge=1, description="For how long a ban makes the next one longer, and a restriction brings a ban.")
    ] = 7 * 86_400
    peak_seconds: Annotated[
        int, Meta(ge=1, description="Time above its standard rate after which an account is restricted, ...")
    ] = 600
    peak_within_seconds: Annotated[int, Meta(ge=60, description="... if it came together within this time.")] = 3_600
    restricted_seconds: Annotated[int, Meta(ge=1, description="How long an account is restricted.")] = 86_400
    restricted_percent: Annotated[
        int, Meta(ge=1, le=100, description="What a restricted account has of its standard rate; it has no peak.")
    ] = 50
    unpaid_calls_at_once: Annotated[
        int, Meta(ge=1, description="Calls under way of an account whose quota is from faucet and gifts alone.")
    ] = 4

    cut_seconds: Annotated[
        float,
        Meta(gt=0, description="When calls that are not streamed are cut on the main address, with 524."),
    ] = 100.0
    longest_seconds: Annotated[
        int,
        Meta(gt=0, description="How long any call may take, also after its cut; streams on the main address excepted."),
    ] = 600
    keep_alive_seconds: Annotated[
        float, Meta(gt=0, description="After how much silence a stream sends a comment, so that nobody closes it.")
    ] = 15.0
    lame_duck_seconds: Annotated[
        float,
        Meta(
            ge=0,
            description="How long a node or front goes on taking calls after SIGTERM, with 503 on /readyz, "
            "so that balancers send it no more: longer than they need to notice. Then it closes its port.",
        ),
    ] = 5.0
    drain_seconds: Annotated[
        float, Meta(ge=0, description="How long calls under way are waited for once the node has closed its port.")
    ] = 620.0
    connect_seconds: Annotated[float, Meta(gt=0, description="How long connecting to a provider may take.")] = 10.0
    first_byte_seconds: Annotated[
        float, Meta(gt=0, description="How long a provider may take to begin a streamed answer.")
    ] = 120.0
    provider_idle_seconds: Annotated[
        float, Meta(gt=0, description="How long a provider may be silent in the middle of an answer.")
    ] = 300.0
    private_providers: Annotated[
        bool,
        Meta(
            description="Providers may be on this machine or in private networks, and be called over plain http: for "
            "engines of your own. Metadata services of clouds, 0.0.0.0 and multicast addresses are never called."
        ),
    ] = False
    private_webhooks: Annotated[
        bool,
        Meta(
            description="Webhooks may be on this machine or in private networks, and be called over plain http. "
            "Metadata services of clouds, 0.0.0.0 and multicast addresses are never called."
        ),
    ] = False
    egress_proxy: Annotated[
        Secret,
        Meta(description="Proxy for calls to providers and webhooks: http://user:password@host:port. None: directly."),
    ] = Secret("")
    provider_certificates: Annotated[
        str,
        Meta(description="PEM file with certificates to trust at providers, beside the usual ones: for a private CA."),
    ] = ""

    smtp_url: Annotated[
        Secret,
        Meta(
            description="Mail server: smtp://user:password@host:587 (with STARTTLS, unless it is this machine) or "
            "smtps://user:password@host:465. None: mails wait, are not sent, and the log says so."
        ),
    ] = Secret("")
    mail_from: Annotated[str, Meta(description="Sender of mails: name@example.com, or Name <name@example.com>.")] = ""
    console_url: Annotated[
        str,
        Meta(
            pattern="^(https?://[^\\s?#]+)?$",
            description="Where people find the console: https://console.example.com. Links in mails lead there, and "
            "passkeys are bound to its host: under another name they sign nobody in.",
        ),
    ] = ""
    console_name: Annotated[
        str, Meta(min_length=1, max_length=40, description="What the console's pages call the service.")
    ] = "Tollkeeper"
    docs_url: Annotated[
        str,
        Meta(
            pattern="^(https?://\\S+)?$",
            description="Where people read how to use the service: the front page links to it. None: no link.",
        ),
    ] = ""
    console_host: Annotated[str, Meta(description="Address that `tollkeeper console` listens on.")] = "127.0.0.1"
    console_port: Annotated[int, Meta(ge=1, le=65535, description="Port that `tollkeeper console` listens on.")] = 8090
    console_workers: Annotated[int, Meta(ge=1, le=64, description="Worker processes of `tollkeeper console`.")] = 1
    console_gateway_url: Annotated[
        str,
        Meta(
            pattern="^(https?://[^\\s?#]+)?$",
            description="Where the console's chat reaches the gateway: http://10.0.0.5:8080. None: the main address.",
        ),
    ] = ""

    usage_days: Annotated[int, Meta(ge=2, le=3660, description="Days of the usage log that a cleanup leaves.")] = 31
    usage_cleaned_days: Annotated[
        int,
        Meta(ge=1, le=3660, description="The usage log is cleaned when so many days are there beyond those it keeps."),
    ] = 30
    log_site: Annotated[
        str,
        Meta(
            pattern="^(file:///[^?#]+|s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#]*)?)?$",
            description="Where a cleanup copies what it takes from the usage log, in place of the copy before: "
            "file:///folder or s3://bucket/prefix. None: the usage log is not cleaned.",
        ),
    ] = ""
    log_site_endpoint: Annotated[
        str,
        Meta(
            pattern="^(https?://[^\\s?#]+)?$",
            description="Address of the S3 API where it is not Amazon's: https://s3.example.com.",
        ),
    ] = ""
    log_site_region: Annotated[str, Meta(min_length=1, description="Region of the bucket.")] = "us-east-1"
    log_site_key_id: Annotated[str, Meta(description="Access key id for the bucket.")] = ""
    log_site_secret: Annotated[Secret, Meta(description="Secret access key for the bucket.")] = Secret("")

    database_connections: Annotated[
        int,
        Meta(
            ge=2,
            le=200,
            description="Connections to PostgreSQL that one worker process opens for lookups (6 more for the books).",
        ),
    ] = 8
    store_patience_seconds: Annotated[
        float, Meta(gt=0, le=60, description="How long a call waits for a store before it is answered 503.")
    ] = 4.0
    key_snapshots: Annotated[
        int, Meta(ge=1, description="Key records that one worker process keeps in memory (about 1 KB each).")
    ] = 50_000
    reading_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="Bytes of large request bodies that one worker process has in hand at once; beyond it callers "
            "get 503. The first 64 KiB of each body are free, and nobody gets more than a quarter once half is taken.",
        ),
    ] = 256 * 1024 * 1024
    journal_folder: Annotated[
        str,
        Meta(
            description="Where worker processes keep the journal of settlements under way. Local, writable, and the "
            "same after a restart, and nobody else's; it holds ids and counts, never content. Default: the first that "
            "can be used of $STATE_DIRECTORY (systemd), /var/lib/tollkeeper and ~/.local/state/tollkeeper."
        ),
    ] = ""
    body_seconds: Annotated[float, Meta(gt=0, description="How long a request body may take to arrive.")] = 60.0
    inspectable: Annotated[
        bool,
        Meta(
            description="Debuggers of the same user may look into `serve` and `work`; otherwise only root's can. "
            "Core dumps are never written."
        ),
    ] = False
    startup_files: Annotated[
        tuple[str, ...],
        Meta(
            description="Names of `.pth` files, or sitecustomize, that may run code before `serve`, `work` and `front` "
            "do: of a monitoring agent, for example. Any other that is not known keeps them from starting."
        ),
    ] = ()

    operator_url: Annotated[
        str,
        Meta(
            pattern="^(https?://[^\\s?#@]+)?$",
            description="For the command line: the console's address, https://console.example.com. Commands then act "
            "through its operator API and need no other setting but the key. None: they work on the database itself.",
        ),
    ] = ""
    operator_key: Annotated[
        Secret,
        Meta(
            description="For the command line: the operator key (`op-…`) that goes with the address. Its scopes say "
            "what commands may do, and the audit trail has its name. `tollkeeper operator-key create` makes one."
        ),
    ] = Secret("")

    @property
    def journal(self) -> Path:
        """The journal's own folder for this database: another deployment's journal must not be replayed here."""
        return Path(self.journal_folder or usual_journal_folder({})) / self._deployment

    @property
    def former_journal(self) -> Path | None:
        """Where earlier versions kept it unless told otherwise."""
        former = FORMER_FOLDER / self._deployment
        return None if former == self.journal else former

    @property
    def _deployment(self) -> str:
        # Of several servers the first: a standby that is added behind it changes nothing.
        database = OTHER_SERVERS.sub("", self.database_url.rpartition("@")[2], count=1)
        return hashlib.sha256(database.encode()).hexdigest()[:16]

    @property
    def node(self) -> str:
        return self.node_name or f"{socket.gethostname()}:{self.port}"
