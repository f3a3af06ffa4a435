"""Serves a recorded cluster live: one real OpenSSH server a node on loopback, answering from the recording.

`python -m tests.served CLUSTER [OVERLAY…]` serves until interrupted and prints what to give to `-c`.
"""

from __future__ import annotations

import hashlib
import shutil
import signal
import stat
import sys
import tempfile
import threading
from pathlib import Path

from checks import catalogue, rules
from checks.clusters import Opened, open_cluster
from checks.outputs import NotAvailable
from tests.checks.transports.sshd import Fleet, make_fleet

# The real script runs in a real shell; only "run this command" and "what time is it" are answered from the recording.
SHELL = r"""#!/bin/sh
clock={folder}/rec/$RACK_NODE/clock
asked='^\(${{T:+[^}}]*}}\) \(sudo -n \)\{{0,1\}}\(.*\) 4>&- 5<&- </dev/null; S=$?$'
exec sed -u -e 's#'"$asked"'#\1 {folder}/answer 4>\&- 5<\&- <<"=end="; S=$?\n\3\n=end=#' \
  -e 's#date +%s.%N#cat '$clock'#' \
  -e '/^U=;/s#/proc/uptime#'$clock'#g' | sh -s
"""
ANSWER = """#!/bin/sh
d={folder}/rec/$RACK_NODE
text=$(cat)
case "$text" in "sh -c "*) eval "set -- $text"; text=$3;; esac
h=$(printf %s "$text" | sha1sum | cut -c1-40)
[ -d "$d/$h" ] || {{ echo "not recorded" >&2; exit 127; }}
n=$(cat "$d/$h/n" 2>/dev/null || echo 0)
[ -e "$d/$h/$((n + 1)).out" ] && n=$((n + 1)) && echo $n > "$d/$h/n"
cat "$d/$h/$n.clock" > "$d/clock"
cat "$d/$h/$n.out"; cat "$d/$h/$n.err" >&2
exit $(cat "$d/$h/$n.status")
"""


def serve(opened: Opened, folder: Path) -> Fleet:
    """Starts a server for every node of a recorded cluster; nodes that could not be asked get none.

    `folder` then holds `config` for ssh and `cluster/cluster.yaml` for `-c`.
    """
    fleet = make_fleet(folder)
    for name, text in (("shell", SHELL), ("answer", ANSWER)):
        path = folder / name
        path.write_text(text.format(folder=folder))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    (folder / "cluster").mkdir()
    shutil.copy(opened.folder / "cluster.yaml", folder / "cluster" / "cluster.yaml")
    for node in opened.cluster.nodes():
        if _prepare(opened, node, folder / "rec" / node):
            fleet.start(node, options=f"ForceCommand {folder}/shell")
        else:
            with (folder / "config").open("a") as file:
                file.write(f"Host {node}\n  HostName 127.1.255.254\n  Port {fleet.port}\n")
    return fleet


def _prepare(opened: Opened, node: str, folder: Path) -> bool:
    """Lays the node's outputs out by command text, in the order in which they will be asked."""
    replay = opened.replay
    assert replay is not None
    probe = replay.get(node, "epoch", (), replay.rounds[-1], 1)
    if isinstance(probe, NotAvailable) and probe.kind == "unreachable":
        return False
    folder.mkdir(parents=True)
    (folder / "clock").write_text("0\n")
    rates = {read.command for rule in rules.every() for read in rule.reads if read.rounds == 2} | {"boot"}
    for command, entry in catalogue.table().items():
        if not entry.runnable:
            continue
        # asked once where no rate hangs on it: the answer is then what a replay takes, the newest
        asked = replay.rounds if command in rates else tuple(reversed(replay.rounds))
        for values in replay.params(node, command) if entry.params else [()]:
            try:
                text = entry.render(values)
            except ValueError:
                continue
            place = folder / hashlib.sha1(text.encode()).hexdigest()
            number = 0
            for round in asked:
                if number and command not in rates:
                    break
                for sample in range(1, replay.samples(node, command, values, round) + 1):
                    got = replay.get(node, command, values, round, sample)
                    if isinstance(got, NotAvailable):
                        continue
                    number += 1
                    place.mkdir(exist_ok=True)
                    (place / f"{number}.out").write_bytes(got.stdout)
                    (place / f"{number}.err").write_bytes(got.stderr)
                    (place / f"{number}.status").write_text(f"{got.status}\n")
                    at = got.read_at.timestamp() if got.read_at else 0
                    (place / f"{number}.clock").write_text(f"{at:.3f}\n")
    return True


def main() -> None:
    """Serves until interrupted."""
    opened = open_cluster(sys.argv[1], sys.argv[2:])
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with tempfile.TemporaryDirectory() as name:
        fleet = serve(opened, Path(name))
        print(f"rackside walk triage -c {name}/cluster --live --ssh-config {name}/config", flush=True)
        stopped.wait()
        fleet.stop()


if __name__ == "__main__":
    main()
