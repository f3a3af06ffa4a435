"""The sample clusters by name."""

from __future__ import annotations

from sample_clusters.make.spec import Spec

SPECS = {
    s.name: s
    for s in (
        Spec("a800-roce-256", 32, 8, 4, 200, "A800", 128, 2048, 48, 32),
        Spec("lustre-default-stripe", 16, 8, 4, 200, "A800", 128, 2048, 48, 4, story="default-stripe"),
        Spec("h100-cpu-starved", 4, 2, 8, 400, "H100", 64, 512, 48, 32, story="cpu-starved"),
        Spec("h100-cpu-balanced", 4, 2, 8, 400, "H100", 96, 768, 48, 32),
        Spec("heartbeat-loss", 64, 16, 2, 200, "A800", 128, 2048, 48, 32, story="heartbeat-loss"),
    )
}
