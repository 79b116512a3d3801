"""Which places outside of a table root are read: one policy, which the caller sets.

Implements "Add File and Remove File": a path may be absolute, as a shallow clone's are, and a table
is untrusted. What a policy refuses is refused before a client is made or a network is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

from reference_impl.errors import PlaceRefused
from reference_impl.places.uris import Address

Outside: TypeAlias = Literal["refuse", "same-store", "any"]
"""``refuse``: nothing but what lies inside of the root once symlinks are resolved.
``same-store``: the disk of a local table; bucket, container or host of another.
``any``: other stores of the same kind too, and those that the caller names."""

OUTSIDE: Final[tuple[Outside, ...]] = get_args(Outside)
"""Every policy."""

SAME_STORE: Final[Outside] = "same-store"
"""The default: what a shallow clone needs."""

_FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "file": ("file",),
    "s3": ("s3", "s3a", "s3n"),
    "gs": ("gs", "gcs"),
    "azure": ("az", "azure", "adl", "abfs", "abfss", "wasb", "wasbs"),
    "memory": ("memory",),
    "http": ("http",),
    "https": ("https",),
}
_FAMILY: Final = {scheme: name for name, schemes in _FAMILIES.items() for scheme in schemes}

_OPENED_AS: Final = {"s3n": "s3", "gcs": "gs", "wasb": "abfs", "wasbs": "abfss"}
"""Schemes that are written differently where a store is opened."""

_ANONYMOUS: Final = {
    "s3": "aws_skip_signature",
    "gs": "google_skip_signature",
    "azure": "azure_skip_signature",
}
_SECRET: Final = ("key", "secret", "token", "sas", "credential", "account", "client", "password")


def family(scheme: str) -> str | None:
    """Name the kind of store that a scheme in lower case means; ``None`` for an unknown one."""
    return _FAMILY.get(scheme)


def opened_as(scheme: str) -> str:
    """Return the scheme under which a store is opened."""
    return _OPENED_AS.get(scheme, scheme)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the caller lets a table's paths lead to.

    Attributes:
        outside: see :data:`Outside`.
        options: of the table's own store; other stores of its kind get them under ``any``.
        stores: ``scheme://authority`` to the options of another store, or to an open store.

    Raises:
        ValueError: there is no such policy.
    """

    outside: Outside = SAME_STORE
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    stores: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Refuse an unknown policy."""
        if self.outside not in OUTSIDE:
            raise ValueError(f"outside is {self.outside!r}, not one of {', '.join(OUTSIDE)}")

    @property
    def root_only(self) -> bool:
        """Whether nothing outside of the table root is read."""
        return self.outside == "refuse"

    def other(self, address: Address, own: str, path: str) -> Any:
        """Return the options of another store that a path names, or the open store of it.

        No credentials are found for another store: it gets what the caller gave, and without
        credentials among that it is accessed anonymously.

        Args:
            address: of the file.
            own: the scheme of the table's own store.
            path: as decoded, for the message.

        Raises:
            PlaceRefused: the policy does not let the store be read.
        """
        kind = family(address.scheme)
        given = self.stores.get(address.store)
        if self.outside == "any" and kind != "file" and kind is not None:
            if given is not None:
                return _without_search(kind, given) if isinstance(given, Mapping) else given
            if kind == family(own) and kind in _ANONYMOUS:
                return _without_search(kind, self.options)
        known = f"the store {address.store}" if kind else f"a place of scheme {address.scheme}:"
        named = f", and {address.store!r} among the stores" if kind != family(own) else ""
        hint = f'to read it, open the table with outside="any"{named}'
        raise PlaceRefused(
            f"the path leads to {known}, which the policy {self.outside!r} does not follow",
            path=path[:500],
            hint=hint if kind else "no client for that scheme is known here",
        )


def _without_search(kind: str, options: Mapping[str, str]) -> dict[str, str]:
    """Keep a client from looking for credentials in the environment or on the network."""
    given = dict(options)
    if kind in _ANONYMOUS and not any(word in key.lower() for key in given for word in _SECRET):
        given[_ANONYMOUS[kind]] = "true"
    return given
