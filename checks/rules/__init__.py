"""The checks: pure functions from readings to judgements, one folder a layer.

A rule registers itself; nobody edits a shared list. Adding a rule is adding a function to a module of its layer.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Literal

from checks.findings import LAYERS, Layer, Scope
from checks.inventory import Cluster
from checks.judgement import Judgement
from checks.view import View

RuleFunction = Callable[[View], Iterable[Judgement]]

FOLDERS: dict[Layer, str] = {layer: layer.removesuffix("-run") for layer in LAYERS}


@dataclass(frozen=True, slots=True)
class Read:
    """A command a rule looks at. `rounds` is 2 for rates; `samples` more than 1 for the trees' "x3", "x5".

    `optional` reads refine a judgement; without the others the rule answers unknown. `roles` narrows the catalogue's.
    """

    command: str
    rounds: Literal[1, 2] = 1
    samples: int = 1
    optional: bool = False
    roles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A check: what it answers, what it reads, which limits and faults it knows."""

    id: str
    title: str
    why: str
    layer: Layer
    scope: Scope
    reads: tuple[Read, ...]
    thresholds: tuple[str, ...]
    faults: tuple[str, ...]
    applies: Callable[[Cluster], str | None] | None
    function: RuleFunction

    def __call__(self, view: View) -> Iterator[Judgement]:
        """The judgements over a view."""
        return iter(self.function(view))


_rules: dict[str, Rule] = {}


def rule(
    id: str,
    *,
    title: str,
    why: str,
    scope: Scope,
    reads: Iterable[Read | str] = (),
    thresholds: Iterable[str] = (),
    faults: Iterable[str] = (),
    applies: Callable[[Cluster], str | None] | None = None,
) -> Callable[[RuleFunction], RuleFunction]:
    """Registers a function as the check `layer.what_should_hold`.

    `applies` gives the reason why the check makes no sense on a cluster (it is then skipped), or None.
    """
    layer: Layer = id.split(".", 1)[0]  # type: ignore[assignment]
    if layer not in LAYERS:
        raise ValueError(f"{id}: {layer} is not a layer")

    def register(function: RuleFunction) -> RuleFunction:
        if id in _rules and _rules[id].function.__qualname__ != function.__qualname__:
            raise ValueError(f"two rules are called {id}")
        _rules[id] = Rule(
            id=id,
            title=title,
            why=why,
            layer=layer,
            scope=scope,
            reads=tuple(r if isinstance(r, Read) else Read(r) for r in reads),
            thresholds=tuple(thresholds),
            faults=tuple(faults),
            applies=applies,
            function=function,
        )
        return function

    return register


@cache
def load(layer: Layer) -> None:
    """Imports the rules of a layer."""
    package = import_module(f"checks.rules.{FOLDERS[layer]}")
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        import_module(f"{package.__name__}.{module}")


def of_layer(layer: Layer) -> list[Rule]:
    """Rules of a layer, by id."""
    load(layer)
    return sorted((r for r in _rules.values() if r.layer == layer), key=lambda r: r.id)


def every() -> list[Rule]:
    """All rules, in layer order."""
    return [r for layer in LAYERS for r in of_layer(layer)]


def get(rule_id: str) -> Rule | None:
    """A rule by id; None when there is none."""
    layer: Layer = rule_id.split(".", 1)[0]  # type: ignore[assignment]
    if layer not in LAYERS:
        return None
    load(layer)
    return _rules.get(rule_id)


def select(patterns: Iterable[str]) -> list[Rule]:
    """Rules named by id or `layer.*`, in the order named, each once. Unknown names are left out."""
    found: dict[str, Rule] = {}
    for pattern in patterns:
        if pattern.endswith(".*"):
            found.update({r.id: r for r in of_layer(pattern[:-2])})  # type: ignore[arg-type]
        elif (one := get(pattern)) is not None:
            found[one.id] = one
    return list(found.values())
