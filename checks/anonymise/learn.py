"""Finds names in outputs: where tools print hosts, people, file systems and serial numbers."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from checks import catalogue
from checks.anonymise.names import Kind, Names

_H = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9-]{1,63}){0,6}"
_SET = r"[A-Za-z][A-Za-z0-9.\[\],-]{0,4000}"
_U = r"[A-Za-z_][A-Za-z0-9_.-]{1,63}"
_TIME = (
    r"^(?:[A-Z][a-z]{2} [ \d]\d (?:\d{4} )?\d\d:\d\d:\d\d(?:\.\d{1,9})?|"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?) "
)


class _Place(NamedTuple):
    """Words without which it is not there, and the pattern; its groups are named for what they hold."""

    guards: tuple[str, ...]
    pattern: re.Pattern[str]


def _place(guards: str, pattern: str, flags: int = re.M) -> _Place:
    return _Place(tuple(guards.split()), re.compile(pattern, flags))


_PLACES = (
    # hosts
    _place(":", _TIME + rf"(?P<host>{_H}) (?:kernel|[A-Za-z][\w.()/@-]{{0,60}}\[\d{{1,10}}\]):"),
    _place("#", _TIME + rf"(?P<host>{_H}) (?:EMERG|ALERT|CRIT|ERR|WARNING|NOTICE|INFO|DEBUG) [\w#./-]{{1,64}}[:\[]"),
    _place(
        "Node Host Switch Controller",
        r"\b(?:NodeName|NodeHostName|NodeAddr|BatchHost|Slurm(?:ctld|dbd)Host(?:\[\d\])?|AccountingStorageHost|DbdHost|"
        r"BackupController|ControlMachine|AllocNode:Sid|Nodes|NodeList|ReqNodeList|ExcNodeList|SwitchName|Switches)"
        rf"\s{{0,24}}=[ ]?(?P<hosts>(?!\w+=){_SET})",
    ),
    _place("Slurm", rf"\bSlurm\w{{1,8}}\(\w{{1,12}}\) at (?P<host>{_H}) is "),
    _place('"chassis"', rf'"chassis"\s{{0,8}}:\s{{0,8}}\[?\s{{0,32}}\{{\s{{0,64}}"(?P<host>{_H})"\s{{0,8}}:'),
    _place(
        "SysName System chassis.name", rf"(?:SysName|System Name|chassis\.name)\s{{0,4}}[:=]\s{{0,12}}\"?(?P<host>{_H})"
    ),
    _place(
        "Name ostname host neighborDevice",
        rf"\"(?:systemName|sysName|host_?[nN]ame|nodeName|neighborDevice|node_host_name)\"\s{{0,4}}:\s{{0,4}}\"(?P<host>{_H})\"",
    ),
    _place("Ethernet", rf"^Ethernet\d{{1,3}} {{1,12}}(?P<host>{_H}) {{1,32}}\S{{1,40}} {{1,16}}[RBO]{{1,4}}(?: |$)"),
    _place("NCCL", rf"(?:^|[\]: ])(?P<host>{_H}):\d{{1,8}}:\d{{1,8}} \[\d{{1,3}}\] NCCL "),
    _place("HCA mlx5_", rf"[\"'](?P<host>{_H}) (?:HCA-\d|mlx5_\d{{1,2}})[\"']"),
    _place("MF0;", rf"\bMF0;(?P<host>{_H}):"),
    _place(":/", rf"^(?P<host>{_H}):/\S{{0,200}}\s{{1,80}}(?:on )?/"),
    _place("@o2ib @tcp", rf"(?<![\w.-])(?P<host>{_H})@(?:o2ib|tcp)\d{{0,3}}\b"),
    _place("^", rf"^\^[*+?x~-] (?P<host>{_H})\s{{1,40}}\d"),
    _place("Reference", rf"^Reference ID\s{{0,8}}: [0-9A-F]{{8}} \((?P<host>{_H})\)"),
    _place("Linux", rf"^Linux (?:\S{{1,80}} \((?P<host>{_H})\)|(?P<host2>{_H}) \d)"),
    _place("ostname odeName", rf"(?:^|[\s/])(?:[Hh]ostname|nodeName)(?:: {{0,24}}|=)\"?(?P<host>{_H})"),
    _place("Ready", rf"^(?P<host>{_H}) {{1,80}}(?:Not)?Ready[, ]"),
    _place("host", rf"(?:to host|resolve hostname|connect to) (?P<host>{_H})(?: port|:|$)"),
    # people
    _place("Id=", rf"\b(?:UserId|GroupId)=(?P<user>{_U})\("),
    _place("Account ACCOUNT", rf"\b(?:Account|SLURM_JOB_ACCOUNT)=(?P<account>{_U})"),
    _place("/home/ sers/", rf"/(?:home|[Uu]sers)/(?P<user>{_U})"),
    _place("from", rf"\b(?:Accepted|Failed) \S{{1,40}} for (?:invalid user )?(?P<user>{_U}) from (?P<host>{_H}) "),
    _place("session", rf"\bsession (?:opened|closed) for user (?P<user>{_U})"),
    _place("id=", rf"\b[ug]id=\d{{1,10}}\((?P<user>{_U})\)"),
    _place("USER= NAME=", rf"(?:^|[\s\0;])(?:SLURM_JOB_)?(?:SUDO_)?(?:USER|LOGNAME)=(?P<user>{_U})"),
    _place('"user', rf"\"(?:user_?name|user)\"\s{{0,4}}:\s{{0,4}}\"(?P<user>{_U})\""),
    _place('"account"', rf"\"account\"\s{{0,4}}:\s{{0,4}}\"(?P<account>{_U})\""),
    _place("Built", rf"^Built by: (?P<user>{_U})@(?P<host>{_H})"),
    _place("@", rf"(?<![\w.@%-])(?P<user>{_U})@(?P<mail>[A-Za-z0-9][A-Za-z0-9-]{{0,62}}\.{_H})(?![\w/:-])"),
    # where
    _place("OST MDT", r"(?<![\w.-])(?P<filesystem>[A-Za-z0-9_]{2,8})-(?:OST|MDT)[0-9a-fA-F]{4}"),
    _place("ClusterName", r"\bClusterName\s{0,24}=\s?(?P<cluster>[\w.-]{3,63})"),
    _place("search domain", r"^(?:search|domain) (?P<domain>[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,6})"),
    # which part it is
    _place(
        "erial SN Sn ERIAL sset Tag board ID",
        r"(?:[Ss]erial(?:[ _-]?(?:[Nn]umber|[Nn]o\.?|[Nn]um|#))?|SERIAL|\bSN|\bSn|[Aa]sset ?[Tt]ag|Processor board ID)"
        r"[\"\])]{0,2}[ \t]{0,40}(?:[:=][ \t]{0,8}|(?<=ID)[ \t])\"?(?P<serial>[A-Za-z0-9][A-Za-z0-9.-]{4,39})(?![\w:])",
    ),
    _place("erial>", r"<(?:\w{0,24}_)?serial>(?P<serial>[A-Za-z0-9.-]{5,40})<"),
    _place("MT", r"\b(?P<serial>MT\d{4}[A-Z]{1,2}\d{4,6})\b"),
    _place("/dev/nvme", r"^/dev/nvme\d{1,3}n\d{1,3} {1,16}(?:/dev/ng\S{1,12} {1,16})?(?P<serial>[A-Za-z0-9_-]{5,20}) "),
)
_GROUPS: dict[str, Kind] = {
    "user": "user",
    "account": "account",
    "filesystem": "filesystem",
    "cluster": "cluster",
    "domain": "domain",
    "serial": "serial",
}
# columns of tables, by the format the catalogue's command asks for
_COLUMNS = {
    **dict.fromkeys(("%N", "NodeList", "NodeName", "FailedNode"), "hosts"),
    **dict.fromkeys(("%u", "User"), "user"),
    **dict.fromkeys(("%a", "Account"), "account"),
    **dict.fromkeys(("serial", "gpu_serial", "board_serial"), "serial"),
}
_HEADS = {"USER": "user", "ACCOUNT": "account", "NODELIST": "hosts", "NODE_LIST": "hosts"}
# 16 hex digits are a GUID only where a tool of the fabric says so: registers and memory are written the same way
_TELLS_GUIDS = re.compile(r"guid|\bwwn\b|==\(|^(?:CA|SW) +\d+ +\d+ 0x|^(?:Switch|Ca)\s*: 0x|HCA-\d", re.I | re.M)
_GUID = re.compile(r"\b0x[0-9a-fA-F]{16}\b")
_PIPES = re.compile(r"^(?:sinfo|squeue|sprio|sacct|sacctmgr)\b.*?(?:-o |format=)'?(\S+?)'?(?: |$)")
_COMMAS = re.compile(r"^nvidia-smi --query-[\w-]+=(\S+) ")


def learn(names: Names, text: str, command: str = "") -> None:
    """Takes note of the names that one output shows; `command` is its id where known."""
    for place in _PLACES:
        if any(guard in text for guard in place.guards):
            for match in place.pattern.finditer(text):
                for group, value in match.groupdict().items():
                    if value:
                        _note(names, group, value)
    if _TELLS_GUIDS.search(text):
        names.guids |= {m[0].lower() for m in _GUID.finditer(text)}
    columns = _columns(command) or _headed(text)
    if columns is None:
        return
    sign, kinds = columns
    for line in text.split("\n"):
        cells = line.split(sign)
        if len(cells) >= len(kinds):
            for kind, cell in zip(kinds, cells, strict=False):
                if kind and cell.strip():
                    _note(names, kind, cell.strip())


def _headed(text: str) -> tuple[str | None, tuple[str | None, ...]] | None:
    """Columns of a table by its first line, as Slurm prints one; columns behind the last telling one do not matter."""
    head = text.lstrip()[:4000].partition("\n")[0]
    sign = "|" if "|" in head else None
    kinds = [_HEADS.get(cell.strip().upper()) for cell in head.split(sign)]
    while kinds and kinds[-1] is None:
        kinds.pop()
    return (sign, tuple(kinds)) if kinds and len(head.split(sign)) > 2 else None


def _note(names: Names, group: str, value: str) -> None:
    if group == "hosts":
        # a set may stand in a list of other things: `gpu[001-008],` or `login01:31377`
        names.learn_hosts(value.rstrip(",.-"))
    elif group == "mail" and value.count(".") < 2:
        names.learn("domain", value)
    elif group.startswith("host") or group == "mail":
        names.learn_host(value)
    elif not (group in ("user", "account") and not re.fullmatch(_U, value)):
        names.learn(_GROUPS[group], value.rstrip("."))


@cache
def _columns(command: str) -> tuple[str | None, tuple[str | None, ...]] | None:
    entry = catalogue.table().get(command)
    if entry is None:
        return None
    if found := _PIPES.search(entry.command):
        sign = "|"
        names = found[1].split("|") if "%" in found[1] else found[1].split(",")
    elif found := _COMMAS.search(entry.command):
        sign, names = ",", found[1].split(",")
    else:
        return None
    # %a is the account in squeue and whether a partition is up in sinfo
    kinds = tuple(None if n == "%a" and entry.command.startswith("sinfo") else _COLUMNS.get(n) for n in names)
    return (sign, kinds) if any(kinds) else None
