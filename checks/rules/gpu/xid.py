"""What the driver logged: the first event of a kind decides, 43 and 45 are echoes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import timedelta

from checks.findings import Status
from checks.judgement import Judgement, ok
from checks.rules import rule
from checks.rules.gpu.common import readings
from checks.tools.gpu_log import GpuEvent, GpuLog
from checks.view import Reading, View, observed

# Xid number -> (fault, status, words); the NVIDIA Xid catalogue, as decision tree T04 sorts it.
_FAULTS: dict[int, tuple[str, Status, str]] = {
    13: ("gpu-xid-13", Status.WARN, "a program's kernel faulted (Xid 13)"),
    31: ("gpu-xid-31", Status.WARN, "a program touched memory it does not own (Xid 31)"),
    43: ("gpu-xid-43", Status.WARN, "a program's channel was torn down (Xid 43): an effect, the GPU is healthy"),
    45: ("gpu-xid-45", Status.WARN, "channels were cleaned up after a kill (Xid 45): an effect, the GPU is healthy"),
    48: ("gpu-dbe", Status.CRITICAL, "uncorrected memory error (Xid 48)"),
    171: ("gpu-dbe", Status.CRITICAL, "uncorrected memory error (Xid 171)"),
    172: ("gpu-sram-errors", Status.CRITICAL, "uncorrected SRAM error (Xid 172)"),
    63: ("gpu-remap-pending", Status.WARN, "a memory row was set aside (Xid 63)"),
    64: ("gpu-remap-failure", Status.CRITICAL, "a memory row could not be set aside (Xid 64)"),
    74: ("gpu-nvlink-error", Status.CRITICAL, "NVLink error (Xid 74)"),
    79: ("gpu-fallen-off-bus", Status.CRITICAL, "a GPU has fallen off the bus (Xid 79)"),
    94: ("gpu-contained-ecc", Status.WARN, "contained memory error (Xid 94): restart the program"),
    95: ("gpu-uncontained-ecc", Status.CRITICAL, "uncontained memory error (Xid 95)"),
    140: ("gpu-uncontained-ecc", Status.CRITICAL, "uncontained memory error (Xid 140)"),
    119: ("gpu-gsp-timeout", Status.CRITICAL, "the GPU's system processor does not answer (Xid 119)"),
    120: ("gpu-gsp-timeout", Status.CRITICAL, "the GPU's system processor failed (Xid 120)"),
    154: ("gpu-xid-154", Status.CRITICAL, "the driver asks for a recovery (Xid 154)"),
    **{n: ("gpu-hang-xids", Status.CRITICAL, f"the GPU hung (Xid {n})") for n in (8, 46, 62, 109, 110, 158)},
    **{n: ("gpu-nvlink5", Status.CRITICAL, f"NVLink 5 error (Xid {n})") for n in range(144, 151)},
}
_RECOVERED = re.compile(r"to (?:0x0 )?\(?None\)?", re.I)
OF_PROGRAMS = frozenset({"gpu-xid-13", "gpu-xid-31", "gpu-xid-43", "gpu-xid-45", "gpu-contained-ecc"})


@rule(
    "gpu.xid",
    title="Has the driver logged Xid or SXid events?",
    why="The first Xid in time names the cause; the many after it are echoes. 43 and 45 say that a program died, not "
    "that the GPU is ill.",
    scope="entity",
    reads=("xid-log",),
    thresholds=("xid-age",),
    faults=(
        *dict.fromkeys(fault for fault, _, _ in _FAULTS.values()),
        "gpu-sxid-fatal",
        "gpu-sxid-nonfatal",
        "gpu-missing-after-boot",
    ),
)
def xid(view: View) -> Iterator[Judgement]:
    """One judgement a node and kind of event, at the time of the first."""
    for r in readings(view, "xid-log", GpuLog):
        if r.facts is None:
            if r.empty:
                yield ok("no Xid in the log", r.node, evidence=(r.quote(1),))
            else:
                yield r.unknown()
            continue
        yield from _of_node(view, r)


def _of_node(view: View, r: Reading[GpuLog]) -> Iterator[Judgement]:
    groups: dict[tuple[str, Status, str], list[GpuEvent]] = {}
    fresh = timedelta(hours=view.limit("xid-age"))
    events = r.known.events
    deadly = {e.number for e in events if e.fatal}
    recovered = _recovered(events)
    old = [e for e in events if _is_old(e, r, fresh)]
    # what a program did long ago explains nothing now; a sick board does not heal
    told = [
        e
        for e in events
        if not (e in old and _kind(e, deadly)[0] in OF_PROGRAMS) and not (e.number == 154 and e.device in recovered)
    ]
    if not told:
        words = "only Xid events that are over" if events else "no Xid in the log"
        yield ok(words, r.node, evidence=tuple(r.quote(e.line) for e in events[-2:]))
    for event in told:
        groups.setdefault(_kind(event, deadly), []).append(event)
    for (fault, status, words), same in groups.items():
        at = same[0].at
        yield Judgement(
            status,
            words,
            nodes=(r.node,),
            entities=tuple(dict.fromkeys(f"{r.node}:{e.device}" for e in same if e.device))[:8],
            observed=(observed("events", len(same), "", r.node),),
            evidence=tuple(r.quote(e.line) for e in same[:2]),
            faults=(fault,) if fault else (),
            certainty="hypothesis" if all(e in old for e in same) else "established",
            threshold=view.against("xid-age") if all(e in old for e in same) else None,
            at=at.isoformat().replace("+00:00", "Z") if at and at.tzinfo else "",
        )


def _is_old(event: GpuEvent, r: Reading[GpuLog], fresh: timedelta) -> bool:
    now = r.output.read_at if r.output else None
    if event.at is None or now is None or event.at.tzinfo is None or now.tzinfo is None:
        return False
    return now - event.at > fresh


def _recovered(events: Iterable[GpuEvent]) -> set[str | None]:
    """GPUs whose last Xid 154 says that no recovery is asked for any more."""
    last = {e.device: e.text for e in events if e.kind == "xid" and e.number == 154}
    return {device for device, text in last.items() if _RECOVERED.search(text)}


def _kind(event: GpuEvent, deadly: set[int | None]) -> tuple[str, Status, str]:
    """`deadly` are the SXids called fatal somewhere: lines of detail that follow do not repeat the word."""
    match event.kind:
        case "sxid":
            if event.fatal or (event.fatal is None and event.number in deadly):
                return "gpu-sxid-fatal", Status.CRITICAL, "fatal NVSwitch error (SXid)"
            if event.fatal is None:
                return "", Status.WARN, "NVSwitch error of unknown severity (SXid)"
            return "gpu-sxid-nonfatal", Status.WARN, "NVSwitch error that is not fatal (SXid)"
        case "fallen-off-bus":
            return _FAULTS[79]
        case "init-failed":
            return "gpu-missing-after-boot", Status.CRITICAL, "the driver could not initialise a GPU"
        case "reset-required":
            return "gpu-xid-154", Status.CRITICAL, "the driver says a GPU needs a reset"
        case "gpu-poison":
            return "gpu-dbe", Status.CRITICAL, "poisoned memory was consumed"
        case _:
            other = f"Xid {event.number}: see the driver's own recommendation"
            return _FAULTS.get(event.number or 0, ("", Status.WARN, other))
