"""Keep the client of a store from following a redirect to another host.

Serves the policy of :mod:`reference_impl.places`: what a store of its own says over HTTP leads no
further than the paths of its tables do. Clients follow redirects and have no option against it.
So all hosts but the store's own are asked by way of a proxy, at an address where none can be.
"""

from __future__ import annotations

import os
from typing import Any, Final

from obstore.store import HTTPStore, S3Store

from reference_impl.places import decode_url

NOWHERE: Final = "http://127.0.0.1:0"
"""Nobody can listen on port 0."""

_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_CLIENT: Final = (
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type",
    "http1_only", "http2_keep_alive_interval", "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle", "http2_only", "pool_idle_timeout", "pool_max_idle_per_host",
    "proxy_ca_certificate", "proxy_excludes", "proxy_url", "randomize_addresses", "timeout",
    "user_agent",
)  # fmt: skip
"""What the environment may say of a client, which options given to it would replace."""


def client_options(store: Any) -> dict[str, str] | None:
    """Return the options that keep the client of a store to its host.

    Args:
        store: an obstore store, as it is opened without them.

    Returns:
        ``None`` where they cannot be: of a cloud, whose hosts are many; where credentials are
        still to be asked for, at another host; where there is a proxy already.

    """
    given: dict[str, str] = {}
    if isinstance(store, HTTPStore):
        url = store.url
    elif isinstance(store, S3Store):
        words = {name.lower(): value for name, value in os.environ.items()}
        around = {name[4:]: value for name, value in words.items() if name.startswith("aws_")}
        config: dict[str, Any] = {**around, **store.config}
        signs = "access_key_id" in config or config.get("skip_signature") == "true"
        url = str(config.get("endpoint") or config.get("endpoint_url") or "") if signs else ""
        given = {name: around[name] for name in _CLIENT if name in around}
    else:
        url = ""
    address = decode_url(url)
    proxied = "proxy_url" in given or any(name.lower() in _PROXIES for name in os.environ)
    if address is None or not address.host or proxied:
        return None
    return {**given, "proxy_url": NOWHERE, "proxy_excludes": address.host}
