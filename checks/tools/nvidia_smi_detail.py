"""nvidia-smi's full reports: `-q` as indented text and `-q -x` as XML.

    GPU 00000000:07:00.0
        Clocks Event Reasons
            SW Power Cap                      : Active
        Temperature
            GPU Current Temp                  : 63 C
            GPU T.Limit Temp                  : 24 C

Both become one flat map per GPU of section path to value, so that a new driver's new fields are readable at once.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import ParseError

from checks.findings import Model
from checks.outputs import Facts, OddLine, Outcome, Raw, Unparsable
from checks.tools.formats import absent, integer, number

_GPU = re.compile(r"^GPU ([0-9A-Fa-f]{8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\s*$")
_PAIR = re.compile(r"^(\s*)([^:]+?)\s*:\s(.*)$|^(\s*)([^:]+?)\s*:$")


class GpuDetail(Model):
    """Everything one report says of one GPU: `values` by path such as `temperature/gpu t.limit temp`, with lines."""

    line: int
    bus_id: str
    values: dict[str, str]
    lines: dict[str, int]

    def text(self, *names: str) -> str | None:
        """The first of several paths that has a value; None for `N/A` and its like."""
        value = next((self.values[n] for n in names if n in self.values), "")
        return None if absent(value) else value

    def number(self, *names: str) -> float | None:
        """The same as a number, its unit dropped."""
        value = self.text(*names)
        return None if value is None else number(value)

    def flag(self, *names: str) -> bool | None:
        """Active, Yes, Enabled; None when not told."""
        value = (self.text(*names) or "").lower()
        if value in ("active", "yes", "enabled"):
            return True
        return False if value in ("not active", "no", "disabled", "inactive") else None


class GpuDetails(Facts):
    """A full report. `attached` is the number of GPUs the driver says it has."""

    driver_version: str | None = None
    attached: int | None = None
    gpus: tuple[GpuDetail, ...]


def parse_smi_tlimit(raw: Raw) -> Outcome:
    """`nvidia-smi -q` with or without `-d`, by indentation."""
    if "<nvidia_smi_log>" in raw.text:
        return parse_smi_xml(raw)
    head: dict[str, str] = {}
    gpus: list[tuple[int, str, dict[str, str], dict[str, int]]] = []
    odd: list[OddLine] = []
    stack: list[tuple[int, str]] = []
    for n, line in raw.numbered():
        if found := _GPU.match(line.strip()):
            gpus.append((n, found[1], {}, {}))
            stack = []
            continue
        if line.startswith("====") or (not gpus and ":" not in line):
            continue
        indent = len(line) - len(line.lstrip())
        pair = _PAIR.match(line)
        name = (pair[2] or pair[5] if pair else line).strip().lower()
        value = (pair[3] or "").strip() if pair else None
        if not gpus:
            if value is not None:
                head[name] = value
            continue
        while stack and stack[-1][0] >= indent:
            stack.pop()
        path = "/".join([*(s for _, s in stack), name])
        _, _, values, lines = gpus[-1]
        if value is None or value == "":
            stack.append((indent, name))
            lines.setdefault(path, n)
        else:
            # two processes of one GPU share their field names: the first is kept
            values.setdefault(path, value)
            lines.setdefault(path, n)
            stack.append((indent, name))
    if not gpus:
        return raw.unparsable("no GPU section of nvidia-smi -q")
    attached = integer(head.get("attached gpus", ""))
    if attached is not None and attached > len(gpus):
        odd.append(OddLine(line=len(raw.lines), text=f"{len(gpus)} of {attached} GPUs in the report"))
    if not raw.complete:
        odd.append(raw.odd(len(raw.lines)))
    return GpuDetails(
        driver_version=head.get("driver version"),
        attached=attached,
        gpus=tuple(GpuDetail(line=n, bus_id=b, values=v, lines=k) for n, b, v, k in gpus),
        odd=tuple(odd),
    )


def parse_smi_xml(raw: Raw) -> Outcome:
    """`nvidia-smi -q -x`; a cut document is unparsable, with the line where it ends."""
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    start = raw.text.find("<nvidia_smi_log>")
    if start < 0:
        if "NVSMI LOG" in raw.text:
            return parse_smi_tlimit(raw)
        return raw.unparsable("no nvidia_smi_log document")
    try:
        root = fromstring(raw.text[start:].rstrip())
    except ParseError as error:
        line = raw.text.count("\n", 0, start) + error.position[0]
        at = min(max(1, line), len(raw.lines))
        return Unparsable("the XML ends too early or is broken", at, raw.odd(at).text)
    except (DefusedXmlException, ValueError) as error:
        return raw.unparsable(f"refused XML: {type(error).__name__}")
    numbers = [n for n, line in raw.numbered() if "<gpu id=" in line]
    gpus = []
    for place, element in enumerate(root.findall("gpu")):
        values: dict[str, str] = {}
        _flatten(element, "", values)
        line = numbers[place] if place < len(numbers) else 1
        gpus.append(GpuDetail(line=line, bus_id=element.get("id", ""), values=values, lines={}))
    attached = integer(root.findtext("attached_gpus", ""))
    odd: tuple[OddLine, ...] = ()
    if attached is not None and attached > len(gpus):
        odd = (OddLine(line=len(raw.lines), text=f"{len(gpus)} of {attached} GPUs in the report"),)
    return GpuDetails(driver_version=root.findtext("driver_version"), attached=attached, gpus=tuple(gpus), odd=odd)


def _flatten(element, path: str, values: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    for child in element:
        name = f"{path}/{child.tag}" if path else child.tag
        if len(child):
            _flatten(child, name, values)
        else:
            values.setdefault(name, (child.text or "").strip())
