"""What a cluster tells its worksheets: sizes from its file, and from its recording what the nodes themselves said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from common.errors import InputError
from worksheets.plan import Given

if TYPE_CHECKING:
    from checks.clusters import Opened
    from checks.inventory import Cluster
    from checks.view import Reading, View

Found = Iterator[tuple[str, Given]]
FORMS = ("SXM", "PCIe")


def measured(opened: Opened, accelerators: Iterable[str]) -> dict[str, Given]:
    """Values by `sheet.input`, each with its source; what the cluster does not tell is not there.

    `accelerators` are the cards of the reference table; a card that could be two of them is left out.

    Raises:
        InputError: the cluster tells nothing a worksheet could use.
    """
    known = tuple(accelerators)
    found = dict(_of_file(opened.cluster, known))
    if opened.store is not None:
        from checks.view import View

        found |= dict(_of_recording(View(opened.cluster, opened.store), opened.label, known))
    if not found:
        raise InputError(
            f"{opened.cluster.name} tells nothing that a worksheet could use",
            fix="give cluster.yaml a role gpu-node with `expect: {gpus: 8, gpu_model: H100, …}`",
        )
    return found


def _of_file(cluster: Cluster, accelerators: tuple[str, ...]) -> Found:
    source, spec, nodes = f"cluster.yaml of {cluster.name}", cluster.spec, cluster.nodes("gpu-node")
    expect = cluster.expect(nodes[0]) if nodes else None
    # nobody says RoCE who says nothing of the fabric, and no sheet reckons with plain Ethernet
    fabric = spec.fabric.kind if "kind" in spec.fabric.model_fields_set else None
    values: dict[str, float | str | None] = {
        "plan.fabric": None if fabric == "ethernet" else fabric,
        "stripe-count.file_size": _written(spec.storage.checkpoint_file_gb, "GB"),
    }
    if expect is not None:
        values |= {
            "plan.accelerator": accelerator(expect.gpu_model or "", accelerators),
            "plan.gpus_per_node": expect.gpus,
            "plan.gpus_total": expect.gpus * len(nodes) if expect.gpus else None,
            "plan.nics_per_node": expect.rdma_nics,
            "plan.nic_rate": _written(expect.nic_gbps, "Gbit/s"),
            "node-balance.cpu_cores": expect.cores,
            "node-balance.ram_bytes": _written(expect.memory_gib, "GiB"),
            "node-balance.nvme_count": expect.nvme,
        }
    for key, value in values.items():
        if value is not None:
            yield key, Given(value=value, source=source)


def _of_recording(view: View, label: str, accelerators: tuple[str, ...]) -> Found:
    from checks.rules.gpu.common import majority
    from checks.rules.storage.common import each_param, mount_of, one_client
    from checks.tools.lustre_df import LustreDf
    from checks.tools.lustre_layout import Layouts
    from checks.tools.nvidia_smi import Gpus

    cards = [r for r in view.read("smi-core", Gpus, roles=("gpu-node",)) if r.facts is not None]
    usual = majority(gpu.name for r in cards for gpu in r.known.gpus)
    if usual and (name := accelerator(str(usual), accelerators)):
        yield "plan.accelerator", _given(name, cards[0], label)
    df = one_client(view, "lfs-df", LustreDf, (mount_of(view),))
    osts = sum(target.active for target in df.facts.of("OST")) if df.facts is not None else 0
    if osts:
        yield "checkpoint-write.ost_count", _given(osts, df, label)
    storage = view.cluster.spec.storage
    if not storage.checkpoint_dir:
        return
    size = (storage.checkpoint_file_gb or 0) * 1e9
    for r in each_param(view, "lfs-getstripe", Layouts, storage.checkpoint_dir):
        if r.facts is None or r.params != (storage.checkpoint_dir,) or not r.facts.layouts:
            continue
        count = r.facts.layouts[0].at(size).stripe_count
        # -1 stands for all OSTs, 0 for the file system's own default, which nobody told
        if count and (count > 0 or osts):
            yield "checkpoint-write.stripes_now", _given(count if count > 0 else osts, r, label)


def _given(value: float | str, reading: Reading[Any], label: str) -> Given:
    day = reading.read_at.date().isoformat() if reading.read_at else ""
    return Given(value=value, source=f"{reading.key} of {reading.node}, {label}", date=day)


def _written(value: float | None, unit: str) -> str | None:
    return None if value is None else f"{value:.12g} {unit}"


def accelerator(name: str, known: Iterable[str]) -> str | None:
    """The one card of the table that a name such as `NVIDIA H100 80GB HBM3` or `A800` can mean; None for several.

    Data-centre boards of NVIDIA that do not say PCIe in `nvidia-smi` are SXM modules.
    """
    words = re.findall(r"[A-Za-z]+\d+[A-Za-z]*|[A-Za-z]+|\d+", name)
    fits = []
    for key in known:
        model, *rest = key.split("-")
        form = next((f for f in FORMS if f in rest), None)
        sizes = [part for part in rest if part.isdigit()]
        if model not in words or any(part not in (*FORMS, *sizes) for part in rest):
            continue
        if form and len(words) > 1 and (form == "PCIe") is not ("PCIE" in name.upper()):
            continue
        # an NVL board is neither
        if form and "NVL" in words:
            continue
        if sizes and len(words) > 1 and f"{sizes[0]}GB" not in name:
            continue
        fits.append(key)
    return fits[0] if len(fits) == 1 else None
