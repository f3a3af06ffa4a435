"""A sheet of one's own, a hostile text, and a config folder that is empty whoever runs the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

EVIL = "\x1b[31m<script>x</script> **b** `c` [a](http://e.vil) \u202eabc | =1+1"
SHEET = """
sheet: my-sheet
id: W99
title: My sheet
question: How much?
inputs:
  - {name: gpus, label: GPUs, unit: GPUs, default: 8, range: [1, 1000], from: plan.gpus_total}
  - {name: price, label: Price, unit: currency/h, default: 2, range: [0, 10], kind: assumption, date: 2020-01}
  - {name: hours, label: Hours, unit: h, range: [0, 1000]}
rows:
  - {name: cost, label: Cost, unit: currency, formula: gpus * price * hours}
  - {name: hidden, label: Hidden, formula: gpus * 2, show: false}
advice:
  - {id: MY-1, when: "cost > 5000[currency]", severity: warn, text: "{cost} is much", inputs: [price]}
  - {id: MY-2, when: "cost > 9000[currency]", severity: fail, text: "{cost} is too much", inputs: [price]}
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("own")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    folder = home / "rackside" / "worksheets"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    path = tmp_path / "my-sheet.yaml"
    path.write_text(SHEET, encoding="utf-8")
    return path
