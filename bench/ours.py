"""One step over a fleet as Rackside takes it: asked, recorded, parsed, judged. Prints its seconds as JSON.

Equal outputs are parsed once, as in the product; in this fleet many are equal.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import sys
import time
from pathlib import Path

from bench.asked import ASKED
from checks import judge, rules
from checks.clusters import Asking, open_live
from checks.outputs import Facts, NodeEvent
from checks.plan import Wanted
from checks.view import View

UNREAD = tuple(a for a in ASKED if not a[0].startswith("smi-") or a[0] == "smi-nvlink-err")
"""What the checks below do not parse themselves."""
CHECKS = ("gpu.answers", "gpu.count", "gpu.settings", "gpu.drift", "gpu.ecc", "gpu.nvlinks_up", "gpu.power_limit")


def main() -> None:
    """`python -m bench.ours FOLDER [STEPS [COMMAND…]]`."""
    folder, steps = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    asked = [a for a in ASKED if a[0] in sys.argv[3:]] or ASKED
    begun = time.perf_counter()
    gc.set_threshold(50_000, 20, 50)  # as the command line does
    kept = folder / f"kept-{os.getpid()}"  # whoever started this removes it, outside of what is timed
    opened = open_live(str(folder / "cluster"), Asking(ssh_config=folder / "config", record=kept))
    live = opened.live
    assert live is not None
    nodes = opened.cluster.nodes()
    took, first_s, last_s, cpu = [], 0.0, 0.0, []

    def note(event: NodeEvent) -> None:
        nonlocal first_s, last_s
        if event.state == "answered":
            last_s = time.perf_counter() - begun
            first_s = first_s or last_s

    for step in range(1, steps + 1):
        start = time.perf_counter()
        cpu.append(time.process_time())
        live.collect([Wanted(n, c, p) for n in nodes for c, p in asked], round=step, on_node=note)
        cpu.append(time.process_time())
        view = View(opened.cluster, live)
        for node in nodes:
            for command, params in UNREAD:
                view.newest(command, node, Facts, params)
        for check in CHECKS:
            rule = rules.get(check)
            assert rule is not None
            judge.judge(rule, view)
        cpu.append(time.process_time())
        took.append(time.perf_counter() - start)
    failed = len(live.failures)
    opened.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "wall_s": time.perf_counter() - begun,
                "steps_s": took,
                "first_s": first_s,
                "last_s": last_s,
                "failed": failed,
                "outputs": live.count,
                "cpu_after_s": {"start": cpu[0], "asked": cpu[1], "judged": cpu[2]},
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_mb": usage.ru_maxrss * 1024 / 1e6,
            }
        )
    )


if __name__ == "__main__":
    main()
