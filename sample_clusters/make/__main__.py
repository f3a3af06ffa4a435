"""Writes all sample clusters, or those named. Each layer's module writes its own outputs."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from sample_clusters.make import clusters
from sample_clusters.make.spec import HERE, Writer, fresh, taken_at

LAYERS = ("gpu", "nic", "switch", "host", "storage", "slurm")


def main(names: list[str]) -> None:
    """Writes `recordings/` of each cluster anew, and the overlays its `overlays_*` modules make."""
    for name in names or list(clusters.SPECS):
        spec = clusters.SPECS[name]
        root = fresh(HERE / name / "recordings")
        out = Writer(root)
        for layer in LAYERS:
            try:
                module = import_module(f"sample_clusters.make.{layer}")
            except ModuleNotFoundError as error:
                if error.name != f"sample_clusters.make.{layer}":
                    raise
                print(f"{name}: no {layer} yet", file=sys.stderr)
                continue
            for number in (1, 2):
                module.write(spec, out, number)
        for number in (1, 2):
            stamp = taken_at(number).isoformat().replace("+00:00", "Z")
            (root / f"round-{number}").mkdir(exist_ok=True)
            (root / f"round-{number}" / "round.yaml").write_text(f"taken_at: {stamp}\n")
        for found in pkgutil.iter_modules([str(Path(__file__).parent)]):
            if found.name.startswith("overlays_"):
                import_module(f"sample_clusters.make.{found.name}").write(spec, HERE / name / "overlays")


if __name__ == "__main__":
    main(sys.argv[1:])
