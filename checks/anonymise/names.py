"""Names of hosts, people, file systems and clusters, and serial numbers: each gets a new one and keeps it.

Hosts keep their numbers, so that sets still fold and sort: what is replaced is the name without its digits.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["user", "account", "domain", "filesystem", "cluster", "serial", "name"]

_BASES = {
    "gpu-node": "node",
    "switch-leaf": "leaf",
    "switch-spine": "spine",
    "switch-core": "core",
    "storage-client": "client",
    "storage-server": "store",
    "scheduler": "head",
    "fabric-manager": "fabric",
    "endpoint": "serve",
    "login": "login",
}
_HOST = re.compile(r"(?=[A-Za-z0-9-]*[A-Za-z])[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_MEMBER = re.compile(r"(?:[^,\[]|\[[^\]]*\]?)+")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z0-9]+")
_NUMBER = re.compile(r"\d+|\[\d[\d,-]*\]")
_BY_ADDRESS = re.compile(r"(?:ip|ec2)-\d{1,3}(?:-\d{1,3}){3}", re.I)
# devices and ports have names as hosts do, and parsers read them
_DEVICE = re.compile(
    r"(?:eth|ethernet|en[opsx]\w*|ib|ibp\w*|ibs\w*|mlx\w*|bond|swp|etp|nvme\w*|sd[a-z]+|md|dm-|cpu|numa|vlan|port|po|"
    r"portchannel|mgmt|lo|docker|veth\w*|br|loopback|raid|ost|mdt|fan|psu|temp|xid|hca-|roce|rdma|uverbs|umad|rail|rank|"
    r"sxm|nvl|gen|pci\w*|x|v)\d+(?:[a-z]\d+)*",
    re.I,
)

_GENERIC = """
root nobody daemon bin sys adm slurm munge nvidia lustre nfs gpfs mmfs ceph beegfs admin administrator user users
ubuntu debian centos rocky redhat fedora sonic cumulus kernel systemd dbus chrony ntp postfix sshd ssh nginx prometheus
grafana node nodes host hosts hostname localhost localdomain head login master server client gateway bastion jump
controller scheduler storage switch leaf spine core fabric mgmt management gpu cpu compute training inference serve
default normal none null unknown all any na self public system local remote test data scratch work tmp var home share
shared project projects group batch job jobs interactive debug high low ok up down error fail failed warning info
true false yes no on off idle mix mixed alloc allocated drain drained running pending completed cluster domain example
train eval dev prod production staging operator service account http https tcp udp rdma roce ethernet infiniband sha256
mlx5 nccl rank worker main python python3 bash unassigned unreachable reason state name type status version serial
"""
GENERIC = frozenset(_GENERIC.split())
"""Words that identify nobody; replacing them would only damage what parsers read."""


# domains of tools and of everybody; parsers read some of them, and none is anybody's own
_PUBLIC = tuple(
    f".{domain}"
    for domain in (
        *(
            "local",
            "localdomain",
            "svc",
            "internal",
            "arpa",
            "example",
            "kubernetes.io",
            "k8s.io",
            "gcr.io",
            "docker.io",
        ),
        *("nvidia.com", "mellanox.com", "amd.com", "intel.com", "ibm.com", "github.com", "gitlab.com", "pytorch.org"),
        *(
            "kernel.org",
            "gnu.org",
            "debian.org",
            "ubuntu.com",
            "redhat.com",
            "lustre.org",
            "whamcloud.com",
            "schedmd.com",
        ),
        *("whamcloud.com", "docker.io", "ghcr.io", "pypi.org", "huggingface.co", "info", "cloud"),
    )
)


_BASE = "|".join(dict.fromkeys((*_BASES.values(), "host")))
NEW: dict[str, re.Pattern[str]] = {
    "host": re.compile(rf"(?:{_BASE})(?:[a-z]{{0,3}}(?:\d|\[).*|-[a-z]{{1,3}})"),
    "user": re.compile(r"user\d{2,}"),
    "account": re.compile(r"account\d{2,}"),
    "domain": re.compile(r"net\d+\.example"),
    "filesystem": re.compile(r"fs\d+"),
    "cluster": re.compile(r"cluster\d*"),
    "serial": re.compile(r"0+\d{1,7}|SN\d+"),
}
"""What new names look like."""


class TooGenericError(ValueError):
    """A name that stands for nobody in particular, or is too short to be found."""


class Names:
    """What was learnt, and the new name of each."""

    def __init__(self) -> None:
        self.bases: dict[str, str] = {}
        self.hosts: dict[str, str] = {}
        self.given: dict[Kind, dict[str, str]] = {}
        self._spellings: set[str] = set()
        self._widths: dict[str, set[int]] = {}
        self._taken: set[str] = set()
        self._first: dict[str, dict[str, str]] = {}
        self.guids: set[str] = set()
        self.version = 0

    def learn_host(self, name: str, role: str | None = None) -> None:
        """Takes note of a host; a domain behind it becomes known too. Addresses and generic words are left out."""
        short, _, domain = name.strip().rstrip(".").partition(".")
        if not _HOST.fullmatch(short) or (domain and not re.search("[A-Za-z]", domain)):
            return
        if domain:
            self.learn("domain", domain)
        if (not role and _DEVICE.fullmatch(short)) or _BY_ADDRESS.fullmatch(short):
            return
        if short.lower() in GENERIC or re.fullmatch(r"[0-9a-f-]{8,}", short):
            return
        outline = _NUMBER.sub("#", short)
        if len(outline) < 2:
            return
        widths = self._widths.setdefault(outline, set())
        numbers = {len(n) for n in _NUMBER.findall(short)}
        if outline not in self._spellings or not numbers <= widths:
            self._spellings.add(outline)
            widths |= numbers
            self.version += 1
        if outline.lower() not in self.bases:
            self.bases[outline.lower()] = self._free(_BASES.get(role or "", "host"), numbered="#" in outline)

    def learn_hosts(self, nodes: str, role: str | None = None) -> None:
        """Takes note of the hosts of a node set, without expanding it: a stranger's may have billions."""
        for part in _MEMBER.findall(nodes):
            bracket = re.search(r"\[(\d[\d,-]*)\]", part)
            if bracket is None:
                self.learn_host(part, role)
                continue
            lengths = {len(n) for n in _DIGITS.findall(bracket[1])}
            for length in range(min(lengths), min(max(lengths), 20) + 1):
                rest = re.sub(r"\[(\d{1,20})[\d,-]*\]", r"\1", part[bracket.end() :])
                self.learn_host(f"{part[: bracket.start()]}{'0' * length}{rest}", role)

    def learn(self, kind: Kind, name: str) -> None:
        """Takes note of a name that is replaced wherever it stands; generic words are left out."""
        known = self.given.setdefault(kind, {})
        if name in known or len(name) < 3 or name.lower() in GENERIC or (name.isdigit() and kind != "serial"):
            return
        if kind == "serial" and (len(name) < 5 or sum(c.isdigit() for c in name) < 2 or not name.strip("0.-")):
            return
        if kind == "domain" and (("." not in name and len(name) < 4) or f".{name.lower()}".endswith(_PUBLIC)):
            return
        if any(name in others for others in self.given.values()):
            return
        first = _WORD.search(name)
        if first is None:
            return
        known[name] = self._new(kind, name, len(known) + 1)
        self._first.setdefault(first[0], {})[name] = known[name]
        self.version += 1

    def add(self, name: str) -> None:
        """Takes a name the user gave: it is replaced inside other words too, in any case.

        Raises:
            TooGenericError: it would be found everywhere.
        """
        if len(name.strip()) < 3 or name.strip().lower() in GENERIC:
            raise TooGenericError(f"`{name}` is too general to be replaced everywhere")
        known = self.given.setdefault("name", {})
        known.setdefault(name.strip(), f"name{len(known) + 1}")
        self.version += 1

    def host(self, name: str) -> str | None:
        """The new name of a host or of a bracketed set of hosts, without its domain; None when it is not known."""
        outline = _NUMBER.sub("#", name)
        base = self.bases.get(outline.lower())
        if base is None or outline not in self._spellings:
            return None
        numbers: list[str] = _NUMBER.findall(name)
        widths = self._widths[outline]
        if any(not n.startswith("[") and len(n) not in widths for n in numbers):
            return None
        new = base + "-".join(numbers)
        if "[" not in name:
            self.hosts[name] = new
        return new

    def host_pattern(self) -> str:
        """A regular expression for every known host and set of hosts."""
        longest = sorted(self._spellings, key=lambda s: (-len(s), s))
        return "|".join(
            r"(?:\d+|\[\d[\d,-]*\])".join(re.escape(part) for part in outline.split("#")) for outline in longest
        )

    def literals(self, text: str) -> dict[str, str]:
        """Known names that may stand in this text, with their new ones."""
        words = self._first.keys() & set(_WORD.findall(text))
        return {old: new for word in words for old, new in self._first[word].items()}

    def _free(self, base: str, *, numbered: bool) -> str:
        for n in range(1 << 20):
            letters = _letters(n)
            name = f"{base}-{letters}" if not numbered else base if n == 0 else f"{base}{letters}"
            if name not in self._taken:
                self._taken.add(name)
                return name
        raise AssertionError("more kinds of hosts than letters")

    def _new(self, kind: Kind, name: str, n: int) -> str:
        match kind:
            case "user":
                return f"user{n:02}"
            case "account":
                return f"account{n:02}"
            case "domain":
                return f"net{n}.example"
            case "filesystem":
                return f"fs{n}"
            case "cluster":
                return "cluster" if n == 1 else f"cluster{n}"
            case "serial":
                # as long as before and of the same sort: some tools pad their columns, some parsers want digits
                return f"{n:0{len(name)}}" if name.isdigit() else f"SN{n:0{len(name) - 2}}"
            case "name":
                return f"name{n}"


def _letters(n: int) -> str:
    """a, b, … z, aa, ab …"""
    text = ""
    n += 1
    while n:
        n, rest = divmod(n - 1, 26)
        text = chr(97 + rest) + text
    return text
