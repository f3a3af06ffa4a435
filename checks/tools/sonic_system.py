"""SONiC itself: version and uptime, the log, temperatures.

SONiC Software Version: SONiC.202305.3
HwSKU: Mellanox-SN4700-O32
Uptime: 02:30:00 up 41 days,  3:12,  1 user,  load average: 0.42, 0.38, 0.35

Mar  4 02:10:41.118240 leaf02 NOTICE swss#orchagent: :- updatePortOperStatus: Port Ethernet0 oper state set from down to up
"""  # noqa: E501

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from checks.outputs import Facts, OddLine, Outcome, Raw
from checks.tools.formats import absent, number, timestamp
from checks.tools.sonic_tables import wanted
from common.safetext import safe_line


class SwitchVersion(Facts):
    """`show version`. `uptime_s` in seconds, to the minute."""

    line: int
    image: str
    kernel: str | None = None
    platform: str | None = None
    hwsku: str | None = None
    asic: str | None = None
    serial: str | None = None
    uptime_s: float | None = None
    uptime_line: int | None = None


_VERSION = re.compile(r"^(SONiC Software Version|Kernel|Platform|HwSKU|ASIC|Serial Number|Uptime)\s*:\s*(.*?)\s*$")
_KNOWN = re.compile(
    r"^(?:SONiC OS Version|Distribution|Build commit|Build date|Built by|ASIC Count|Model Number|Hardware Rev\w*|Date|"
    r"Docker images|REPOSITORY|Switch Type|DB Version)\b"
)
_UP = re.compile(r"\bup\s+(.*?),\s+\d+\s+users?\b")
_UP_ALONE = re.compile(r"\bup\s+(.*?)(?:,\s+load average|$)")
_SPAN = re.compile(r"(\d+)\s*(day|week|hour|hr|min|sec|year)|(\d+):(\d\d)\b")
_SECONDS = {"year": 31536000, "week": 604800, "day": 86400, "hour": 3600, "hr": 3600, "min": 60, "sec": 1}


def uptime_seconds(text: str) -> float | None:
    """Seconds of `uptime`'s wording: `up 41 days,  3:12`, `up 20 min`, `up 1 day, 4 min`."""
    match = _UP.search(text) or _UP_ALONE.search(text)
    spans = list(_SPAN.finditer(match[1])) if match else []
    if not spans:
        return None
    return float(
        sum(
            int(s[3]) * 3600 + int(s[4]) * 60 if s[3] else int(s[1]) * _SECONDS[s[2]]  # `3:12` is hours and minutes
            for s in spans
        )
    )


def parse_sw_version(raw: Raw) -> Outcome:
    """`Name: value` lines, then a list of container images that is left out."""
    values: dict[str, tuple[int, str]] = {}
    odd: list[OddLine] = []
    images = False
    for n, line in raw.numbered():
        text = line.strip()
        if match := _VERSION.match(text):
            values.setdefault(match[1], (n, match[2]))
        elif values and not images and not _KNOWN.match(text):
            odd.append(raw.odd(n))
        images = images or text.startswith(("Docker images", "REPOSITORY"))
    if "SONiC Software Version" not in values:
        return raw.unparsable("not `show version` of SONiC: no software version")
    at, image = values["SONiC Software Version"]
    uptime = values.get("Uptime")
    if not image:
        return raw.unparsable("the software version is empty")
    if not raw.complete and at == len(raw.lines):
        return raw.unparsable("cut off within the software version")
    if uptime is not None and not raw.complete and uptime[0] == len(raw.lines):
        odd.append(raw.odd(uptime[0]))

    def value(name: str) -> str | None:
        text = values.get(name, (0, ""))[1]
        return None if absent(text) else text

    return SwitchVersion(
        line=at,
        image=image,
        kernel=value("Kernel"),
        platform=value("Platform"),
        hwsku=value("HwSKU"),
        asic=value("ASIC"),
        serial=value("Serial Number"),
        uptime_s=uptime_seconds(uptime[1]) if uptime else None,
        uptime_line=uptime[0] if uptime else None,
        odd=tuple(odd),
    )


EventKind = Literal["reboot", "upgrade", "link-down", "link-up", "pfc-storm", "temperature"]


class LogEvent(BaseModel):
    """A log line that means something here; `at` has the year 1900 where the log prints none."""

    model_config = ConfigDict(frozen=True)

    line: int
    at: datetime | None
    kind: EventKind
    port: str = ""
    text: str


class SwitchLog(Facts):
    """`show logging`: how many lines were read, the first and last time, and the events among them."""

    lines: int
    first_at: datetime | None
    last_at: datetime | None
    events: tuple[LogEvent, ...]


_STAMP = re.compile(
    r"^(?:(?P<iso>\d{4}-\d\d-\d\dT\S+)|(?:(?P<year>\d{4})\s+)?(?P<day>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
    r"\s+\d+)\s+(?P<time>\d\d:\d\d:\d\d(?:\.\d+)?))\s+(?P<host>\S+)\s+(?P<rest>\S.*)$"
)
_PORT = r"(Ethernet[\w/-]+)"
_EVENTS: tuple[tuple[EventKind, re.Pattern[str]], ...] = (
    ("pfc-storm", re.compile(rf"PFC (?:Watchdog )?(?:storm )?detected.*?{_PORT}|storm detected.*?{_PORT}", re.I)),
    ("link-down", re.compile(rf"{_PORT}.*?(?:from up to down|link down|oper state set.* to down)", re.I)),
    ("link-up", re.compile(rf"{_PORT}.*?(?:from down to up|link up|oper state set.* to up)", re.I)),
    ("link-down", re.compile(rf"Set operation status DOWN to host interface {_PORT}", re.I)),
    ("link-up", re.compile(rf"Set operation status UP to host interface {_PORT}", re.I)),
    (
        "upgrade",
        re.compile(
            r"sonic[-_]installer\b.*\binstall|Command: .*sonic[-_]installer|Installed (?:SONiC|image)|"
            r"image .* installed",
            re.I,
        ),
    ),
    (
        "reboot",
        re.compile(
            r"\b(?:warm|fast|cold|soft)[- ]?reboot\b(?!-?cause:? *(?:none|n/a))|User .* issued .*reboot|rebooting\b|"
            r"reboot: (?:Rebooting|Restarting)|Linux version \d|requested to reboot|reboot[- ]cause",
            re.I,
        ),
    ),
    ("temperature", re.compile(r"(?:high|critical) temperature|overheat|temperature .*(?:exceed|above)", re.I)),
)


def parse_sw_log(raw: Raw) -> Outcome:
    """Syslog lines with or without a year; indented lines continue the one before."""
    count, first, last = 0, None, None
    events: list[LogEvent] = []
    odd: list[OddLine] = []
    for n, line in raw.numbered():
        match = _STAMP.match(line)
        cut_off = n == len(raw.lines) and not raw.complete
        if match is None or cut_off:
            if count and (cut_off or not line[:1].isspace()):
                odd.append(raw.odd(n))
            continue
        count += 1
        at = _when(match)
        first, last = first or at, at or last
        for kind, pattern in _EVENTS:
            if found := pattern.search(match["rest"]):
                port = next((g for g in found.groups() if g), "") if found.groups() else ""
                text = safe_line(match["rest"], limit=200)
                events.append(LogEvent(line=n, at=at, kind=kind, port=port, text=text))
                break
    if not count:
        return raw.unparsable("not a switch log: no line starts with a time")
    return SwitchLog(lines=count, first_at=first, last_at=last, events=tuple(events), odd=tuple(odd))


def _when(match: re.Match[str]) -> datetime | None:
    if match["iso"]:
        return timestamp(match["iso"])
    text = f"{match['year'] or 1900} {' '.join(match['day'].split())} {match['time'].partition('.')[0]}"
    try:
        return datetime.strptime(text, "%Y %b %d %H:%M:%S")
    except ValueError:
        return None


class Sensor(BaseModel):
    """One sensor in Celsius. `warning` as the switch itself judges."""

    model_config = ConfigDict(frozen=True)

    line: int
    name: str
    temperature_c: float | None
    high_c: float | None = None
    critical_c: float | None = None
    warning: bool | None = None


class Temperatures(Facts):
    """`show platform temperature`."""

    sensors: tuple[Sensor, ...]


def parse_sw_env(raw: Raw) -> Outcome:
    """The sensor table; sensors that are absent print N/A."""
    found, odd = wanted(raw, "Temperature", "High Th", "Crit High Th")
    if not found:
        return raw.unparsable("not `show platform temperature`: no table with High Th")

    def value(text: str) -> float | None:
        return None if absent(text) else number(text)

    sensors = tuple(
        Sensor(
            line=n,
            name=c[t.names[0]],
            temperature_c=value(c["Temperature"]),
            high_c=value(c["High Th"]),
            critical_c=value(c["Crit High Th"]),
            warning={"true": True, "false": False}.get(c.get("Warning", "").lower()),
        )
        for t in found
        for n, c in t.rows
    )
    return Temperatures(sensors=sensors, odd=odd)
