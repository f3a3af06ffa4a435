"""Are the GPUs there, does the driver answer, are they set up alike?"""

from __future__ import annotations

from collections.abc import Iterator

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.outputs import NotAvailable
from checks.rules import Read, rule
from checks.rules.gpu.common import fewer, gpu, majority, readings
from checks.tools.gpu_log import GpuLog
from checks.tools.lspci import PciDevices
from checks.tools.nvidia_driver import DriverVersion
from checks.tools.nvidia_smi import GpuIdentity, GpuList, Gpus
from checks.view import Reading, View, observed


@rule(
    "gpu.answers",
    title="Does the driver answer?",
    why="A wedged GPU hangs every nvidia-smi on its node; a library of another version than the kernel module answers "
    "nothing. Neither is a missing card.",
    scope="node",
    reads=("smi-list", Read("drv-version", optional=True)),
    faults=("gpu-nvidia-smi-hang", "gpu-driver-mismatch"),
)
def answers(view: View) -> Iterator[Judgement]:
    """The first and cheapest question to the driver."""
    for r in readings(view, "smi-list", GpuList):
        if r.facts is not None:
            yield ok("the driver answers", r.node, evidence=(r.quote(1),))
        elif isinstance(r.outcome, NotAvailable) and r.outcome.kind == "timed-out":
            yield Judgement(
                Status.CRITICAL,
                "nvidia-smi hangs; do not run another one there",
                nodes=(r.node,),
                evidence=(r.quote(1),),
                faults=("gpu-nvidia-smi-hang",),
                reason=r.why,
            )
        elif "version mismatch" in r.why.lower():
            module = view.newest("drv-version", r.node, DriverVersion)
            loaded = module.facts.version if module.facts else None
            yield Judgement(
                Status.CRITICAL,
                "the driver's library and kernel module have different versions",
                nodes=(r.node,),
                observed=(observed("kernel module", loaded, "", r.node),),
                evidence=(r.quote(1, 2),),
                faults=("gpu-driver-mismatch",),
            )
        else:
            yield r.unknown()


@rule(
    "gpu.count",
    title="Are all GPUs there?",
    why="A job that needs 8 GPUs does not start with 7. Whether the bus or only the driver misses one decides between "
    "hardware and software.",
    scope="node",
    reads=("smi-list", Read("lspci-gpu", optional=True), Read("xid-log", optional=True)),
    faults=("gpu-missing-after-boot", "gpu-fallen-off-bus"),
)
def count(view: View) -> Iterator[Judgement]:
    """The driver's count against what is expected, else against most nodes."""
    found = list(readings(view, "smi-list", GpuList))
    usual = majority(len(r.facts.gpus) for r in found if r.facts is not None)
    for r in found:
        if r.facts is None:
            yield r.unknown()
            continue
        have = len(r.facts.gpus)
        expected = view.cluster.expect(r.node).gpus
        want = expected if expected is not None else usual
        values = (observed("GPUs", have, "", r.node), observed("GPUs expected", want, "", r.node))  # type: ignore[arg-type]
        if not isinstance(want, int):
            yield r.unknown("how many GPUs there should be is not known")
        elif have == want and not r.facts.unreachable:
            yield ok("all GPUs are there", r.node, observed=values, evidence=(r.quote(1, max(1, have)),))
        elif have > want:
            yield Judgement(
                Status.WARN,
                "more GPUs than expected",
                nodes=(r.node,),
                observed=values,
                evidence=(r.quote(r.facts.gpus[0].line, r.facts.gpus[-1].line),),
            )
        elif have + sum(o.text.startswith("GPU ") for o in r.facts.odd) >= want and not r.facts.unreachable:
            yield r.unknown("a line of the list is cut off: its GPU may be there")
        else:
            yield _missing(view, r, have, want, values)


def _missing(view: View, r: Reading[GpuList], have: int, want: int, values: tuple) -> Judgement:  # type: ignore[type-arg]
    log = view.newest("xid-log", r.node, GpuLog)
    bus = view.newest("lspci-gpu", r.node, PciDevices)
    lost = [e for e in log.facts.events if e.kind == "fallen-off-bus" or e.number == 79] if log.facts else []
    dead = [d for d in bus.facts.devices if d.gpu and not d.answers] if bus.facts else []
    evidence = [r.quote(x.line) for x in r.known.unreachable] or [r.quote(1, max(1, have))]
    evidence += [log.quote(e.line) for e in lost[:2]] + [bus.quote(d.line) for d in dead[:2]]
    fell = bool(lost or dead)
    return Judgement(
        Status.CRITICAL,
        "a GPU has fallen off the bus" if fell else "GPUs are missing",
        nodes=(r.node,),
        entities=fewer(r.node, have, want),
        observed=values,
        evidence=tuple(evidence),
        faults=("gpu-fallen-off-bus",) if fell else ("gpu-missing-after-boot",),
        certainty="established" if fell or bus.facts else "supported",
    )


@rule(
    "gpu.settings",
    title="Are the GPUs set up for training?",
    why="ECC off hides memory errors until results are wrong; MIG left on gives a job a slice; without persistence "
    "each start pays seconds.",
    scope="entity",
    reads=("smi-core",),
    faults=("gpu-ecc-off", "gpu-persistence-off", "gpu-mig-left"),
)
def settings(view: View) -> Iterator[Judgement]:
    """Modes of each GPU; a mode the driver does not tell is not assumed."""
    for r in readings(view, "smi-core", Gpus):
        if r.facts is None:
            yield r.unknown()
            continue
        wrong = False
        for attribute, bad, words, fault, status in (
            ("ecc_mode", False, "ECC is off", "gpu-ecc-off", Status.WARN),
            ("mig_mode", True, "MIG is on", "gpu-mig-left", Status.WARN),
            ("persistence_mode", False, "persistence mode is off", "gpu-persistence-off", Status.WARN),
        ):
            odd = [g for g in r.facts.gpus if getattr(g, attribute) is bad]
            if odd:
                wrong = True
                yield Judgement(
                    status,
                    words,
                    nodes=(r.node,),
                    entities=tuple(gpu(r.node, g.index) for g in odd),
                    evidence=tuple(r.quote(g.line) for g in odd[:3]),
                    faults=(fault,),
                )
        # a card that cannot do MIG tells no mode, and that is as good as off
        untold = [g for g in r.facts.gpus if g.ecc_mode is None or g.persistence_mode is None]
        if untold:
            yield r.unknown("the ECC or persistence mode of a GPU is not told")
        elif not wrong:
            yield ok("ECC on, MIG off, persistence on", r.node, evidence=(r.quote(r.facts.gpus[0].line),))


@rule(
    "gpu.drift",
    title="Do all GPUs run the same driver and firmware?",
    why="A board swapped in with another VBIOS, or a node that missed a driver roll-out, is slow or fails on its own.",
    scope="group",
    reads=("smi-core",),
    faults=("gpu-vbios-drift", "gpu-driver-mismatch"),
)
def drift(view: View) -> Iterator[Judgement]:
    """Driver and VBIOS against most GPUs of the same model."""
    found = list(readings(view, "smi-core", Gpus))
    every = [(r, g) for r in found if r.facts is not None for g in r.facts.gpus]
    vbios: dict[str | None, object | None] = {}
    for model in {g.name for _, g in every}:
        vbios[model] = majority(g.vbios_version for _, g in every if g.name == model and g.vbios_version)
    driver = majority(g.driver_version for _, g in every if g.driver_version)
    for r in found:
        if r.facts is None:
            yield r.unknown()
            continue
        odd = [g for g in r.facts.gpus if g.vbios_version and vbios[g.name] and g.vbios_version != vbios[g.name]]
        other = [g for g in r.facts.gpus if g.driver_version and driver and g.driver_version != driver]
        values = _versions(r.node, r.facts.gpus)
        if odd:
            yield Judgement(
                Status.WARN,
                "VBIOS differs from most GPUs of the model",
                nodes=(r.node,),
                entities=tuple(gpu(r.node, g.index) for g in odd),
                observed=values,
                evidence=tuple(r.quote(g.line) for g in odd[:3]),
                faults=("gpu-vbios-drift",),
            )
        if other:
            yield Judgement(
                Status.WARN,
                "driver version differs from most nodes",
                nodes=(r.node,),
                observed=values,
                evidence=(r.quote(other[0].line),),
            )
        if odd or other:
            continue
        split = driver is None or any(vbios[g.name] is None for g in r.facts.gpus)
        if any(g.vbios_version is None or g.driver_version is None for g in r.facts.gpus):
            yield r.unknown("the driver or VBIOS version of a GPU is not told")
        elif split:
            yield Judgement(
                Status.WARN,
                "driver or VBIOS versions differ, and none is on most GPUs",
                nodes=(r.node,),
                observed=values,
                evidence=(r.quote(r.facts.gpus[0].line),),
            )
        else:
            yield ok("driver and VBIOS as on the other nodes", r.node, observed=values, evidence=(r.quote(1),))


def _versions(node: str, gpus: tuple[GpuIdentity, ...]) -> tuple:  # type: ignore[type-arg]
    drivers = ", ".join(sorted({g.driver_version for g in gpus if g.driver_version}))
    images = ", ".join(sorted({g.vbios_version for g in gpus if g.vbios_version}))
    return (observed("driver", drivers or None, "", node), observed("VBIOS", images or None, "", node))
