"""What storage rules share: one client to ask, what kind of storage this is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from checks.inventory import Cluster
from checks.outputs import Facts, NotAvailable
from checks.view import Reading, View

F = TypeVar("F", bound=Facts)


def only(*kinds: str) -> Callable[[Cluster], str | None]:
    """Why a check of other kinds of storage makes no sense here; storage of no stated kind counts as Lustre."""

    def reason(cluster: Cluster) -> str | None:
        kind = cluster.spec.storage.kind or "lustre"
        return None if kind in kinds else f"the storage here is {kind}"

    return reason


def shared(cluster: Cluster) -> str | None:
    """Why a check of a mounted, shared file system makes no sense here."""
    kind = cluster.spec.storage.kind
    return f"the storage here is {kind}" if kind in ("local", "object") else None


def servers_known(cluster: Cluster) -> str | None:
    """Why nothing can be asked of storage servers."""
    if other := only("lustre")(cluster):
        return other
    return None if cluster.nodes("storage-server") else "no storage server is in the inventory: ask the storage team"


def one_client(
    view: View, command: str, kind: type[F], params: tuple[str, ...] = (), *, nodes: Iterable[str] | None = None
) -> Reading[F]:
    """The reading of the first client that has one: a shared target is not asked by all of them."""
    first: Reading[F] | None = None
    for node in view.nodes("storage-client") if nodes is None else nodes:
        reading = view.newest(command, node, kind, params)
        gone = isinstance(reading.outcome, NotAvailable) and reading.outcome.kind in (
            "not-recorded",
            "not-asked",
            "unreachable",
        )
        if not gone:
            return reading
        first = first or reading
    missing = NotAvailable("not-recorded", "no storage client was asked")
    return first or Reading("", command, params, 1, missing)


def mount_of(view: View) -> str:
    """The file system's mount point as the cluster file says, else the usual one."""
    return view.cluster.spec.storage.mount or "/lustre"


def each_param(view: View, command: str, kind: type[F], named: str | None = None) -> list[Reading[F]]:
    """One client's reading for every parameter recorded (or named) of a command."""
    values: dict[tuple[str, ...], None] = {(named,): None} if named else {}
    for node in view.nodes("storage-client"):
        values.update(dict.fromkeys(view.store.params(node, command)))
    return [one_client(view, command, kind, value) for value in values] or [one_client(view, command, kind)]
