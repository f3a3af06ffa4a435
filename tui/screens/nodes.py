"""Nodes by layer: worst first, equal ones folded into one row, with the findings behind each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import Worker, WorkerState, get_current_worker

from checks import nodesets
from checks.findings import LAYERS, Finding, Layer, Status
from common.safetext import safe_line
from common.words import say
from tui import keys, nodetext
from tui.messages import ChecksDone, Progressed
from tui.node_progress import READ_EVERY_S, NodeProgress
from tui.screens.ask import AskText
from tui.screens.base import RackScreen
from tui.widgets.columns import Columns
from tui.widgets.rows import Row, Rows

if TYPE_CHECKING:
    from checks.clusters import Opened
    from checks.runner import Progress

STATUS_WIDTH = 11
NODES_WIDTH = 22


@dataclass(frozen=True)
class Group:
    """Nodes that look alike in one layer: one worst status, the same checks that say so."""

    status: Status
    nodes: str
    findings: tuple[Finding, ...]

    @property
    def summary(self) -> str:
        """What the worst finding says, and how many say something as bad."""
        worst = [f for f in self.findings if f.status == self.status]
        if self.status <= Status.OK:
            return say("nodes.checks", count=len(self.findings))
        more = f" (+{len(worst) - 1})" if len(worst) > 1 else ""
        return f"{worst[0].summary}{more}"


def groups(findings: Sequence[Finding], layer: Layer) -> list[Group]:
    """The groups of a layer, worst first; findings that name no node are a group of their own."""
    by_node: dict[str, list[int]] = {}
    mine = [f for f in findings if f.layer == layer and f.status != Status.SKIPPED]
    for index, finding in enumerate(mine):
        for node in finding.node_list or ("",):
            by_node.setdefault(node, []).append(index)
    alike: dict[tuple[Status, tuple[int, ...]], list[str]] = {}
    for node, indices in by_node.items():
        worst = Status.fold(mine[i].status for i in indices)
        telling = tuple(i for i in indices if mine[i].status == worst) if worst > Status.OK else ()
        alike.setdefault((worst, telling), []).append(node)
    made = []
    for (worst, _), nodes in alike.items():
        own = sorted({i for node in nodes for i in by_node[node]}, key=lambda i: (-mine[i].status, mine[i].check))
        made.append(Group(worst, nodesets.fold(n for n in nodes if n), tuple(mine[i] for i in own)))
    return sorted(made, key=lambda g: (-g.status, g.nodes))


class NodesScreen(RackScreen):
    """The cluster as the checks see it."""

    PLACE = "nodes"
    CSS_PATH = "../styles/nodes.tcss"
    BINDINGS = [*keys.SCREENS["nodes"]]

    def __init__(
        self,
        opened: Opened,
        findings: Sequence[Finding] = (),
        ask_again: Callable[[frozenset[str] | None], None] | None = None,
    ) -> None:
        super().__init__()
        self.opened = opened
        self._ask_again = ask_again
        self.nodes = NodeProgress()
        self.findings: dict[str, list[Finding]] = {}
        self._take(findings)
        self._unfolded: set[str] = set()
        self._folded: set[str] = set()
        self._find: dict[str, Finding] = {}
        self._groups: dict[str, str] = {}

    def _take(self, findings: Iterable[Finding]) -> None:
        fresh: dict[str, list[Finding]] = {}
        for finding in findings:
            fresh.setdefault(finding.check, []).append(finding)
        self.findings.update(fresh)

    def body(self) -> Iterable[Widget]:
        """State of the run, then the rows."""
        yield Static(id="state", classes="title", markup=False)
        yield Rows(id="nodes")

    def on_mount(self) -> None:
        """Shows what is known; runs everything when nothing is."""
        super().on_mount()
        self._fill()
        self.query_one(Rows).focus()
        if self.opened.live is not None:
            self.set_interval(READ_EVERY_S, self._show_nodes)
        if self.findings:
            self._state(say("nodes.so-far"))
        else:
            self.action_run_checks()

    def _state(self, text: str) -> None:
        self.query_one("#state", Static).update(nodetext.line(text))

    def action_run_checks(self) -> None:
        """Every check of every layer, in the background."""
        if self.opened.store is None:
            self.problem(say("nodes.no-recording"))
            return
        self.nodes.clear()
        self._run()

    def action_ask_again(self) -> None:
        """Asks the nodes of the highlighted row anew; from a walk, the walk does it."""
        live = self.opened.live
        key = self.query_one(Rows).chosen or ""
        row = self._groups.get(key.removeprefix("group:")) if key.startswith("group:") else None
        nodes = frozenset(nodesets.expand(row)) if row else None
        if live is None or (nodes is None and not live.failures):
            self.tell(say("live.choose-nodes"))
        elif self._ask_again is not None:
            again = self._ask_again
            self.app.pop_screen()
            again(nodes)
        else:
            live.retry(nodes)
            self.findings.clear()
            self.action_run_checks()

    @work(thread=True, group="nodes", exclusive=True, exit_on_error=False)
    def _run(self) -> None:
        from checks.runner import CancelledError, Runner

        worker = get_current_worker()
        assert self.opened.store is not None
        runner = Runner(self.opened.cluster, self.opened.store)
        try:
            found = runner.run(
                [f"{layer}.*" for layer in LAYERS],
                on_progress=self._tell_progress,
                cancelled=lambda: worker.is_cancelled,
            )
        except CancelledError:
            self.post_message(ChecksDone(cancelled=True))
            return
        self.post_message(ChecksDone(found))

    def _tell_progress(self, progress: Progress) -> None:
        if not self.nodes.note(progress):
            self.post_message(Progressed(progress))

    def _show_nodes(self) -> None:
        if self.checking and (text := self.nodes.text()):
            self._state(text.replace("\n", "; "))

    @on(Progressed)
    def _progressed(self, event: Progressed) -> None:
        p = event.progress
        self._take(p.findings)
        self._state(say("running", done=p.done, total=p.total, check=p.check))

    @on(ChecksDone)
    def _done(self, event: ChecksDone) -> None:
        self._take(event.findings)
        self._state(say("stopped") if event.cancelled else say("nodes.all-run"))
        self._fill()

    @on(Worker.StateChanged)
    def _failed(self, event: Worker.StateChanged) -> None:
        self.refresh_bindings()
        if event.state == WorkerState.ERROR and event.worker.group == "nodes":
            self._state(say("stopped"))
            self.problem(str(event.worker.error))

    @property
    def checking(self) -> bool:
        """True while checks run."""
        return any(w.group == "nodes" and not w.is_finished for w in self.workers if w.node is self)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that do nothing now are hidden."""
        if action == "cancel":
            return self.checking
        if action == "ask_again":
            return self.opened.live is not None and not self.checking
        return not self.checking if action == "run_checks" else True

    def action_back(self) -> None:
        """Stops what runs."""
        self.action_cancel()
        super().action_back()

    def action_cancel(self) -> None:
        """Stops after the check at work."""
        self.workers.cancel_group(self, "nodes")

    def _fill(self) -> None:
        self.query_one(Rows).fill(self._rows())

    def _rows(self) -> Iterable[Row]:
        self._find.clear()
        every = [f for found in self.findings.values() for f in found]
        for layer in LAYERS:
            found = groups(every, layer)
            worst = Status.fold(g.status for g in found)
            key = f"layer:{layer}"
            open_ = key in self._unfolded or (worst >= Status.UNKNOWN and key not in self._folded)
            title = say(f"layer.{layer}")
            if not found:
                yield Row(
                    key,
                    Columns(
                        (Content.styled(f"- {say('nodes.not-asked')}", "$text-muted"), STATUS_WIDTH),
                        (Content.styled(title, "bold"), 0),
                    ),
                )
                continue
            count = len({n for g in found if g.nodes for n in nodesets.expand(g.nodes)})
            fold = "-" if open_ else "+"
            head = Content.assemble((title, "bold"), f"  {say('nodes.count', count=count)}  [{fold}]")
            yield Row(key, Columns((nodetext.status(worst), STATUS_WIDTH), (head, 0)))
            if open_:
                for number, group in enumerate(found):
                    yield from self._group(f"{layer}:{number}", group)

    def _group(self, name: str, group: Group) -> Iterable[Row]:
        key = f"group:{name}"
        self._groups[name] = group.nodes
        place = group.nodes or say("nodes.cluster")
        row = Columns(
            (nodetext.status(group.status), STATUS_WIDTH),
            (nodetext.line(place, "bold"), NODES_WIDTH),
            (nodetext.line(group.summary), 0),
            indent=2,
        )
        yield Row(key, row)
        if key not in self._unfolded:
            return
        for number, finding in enumerate(group.findings):
            finding_key = f"finding:{name}:{number}"
            self._find[finding_key] = finding
            yield Row(finding_key, finding_row(finding, indent=4))

    @on(Rows.OptionSelected)
    def _selected(self, event: Rows.OptionSelected) -> None:
        self._choose(event.option_id or "")

    def action_choose(self) -> None:
        """Unfolds, folds, or opens the evidence."""
        self._choose(self.query_one(Rows).chosen or "")

    def _choose(self, key: str) -> None:
        if finding := self._find.get(key):
            from tui.screens.evidence import EvidenceScreen

            self.app.push_screen(EvidenceScreen(finding, self.opened.store))
            return
        shown = key.startswith("layer:") and any(
            r.key.startswith(f"group:{key[6:]}:") for r in self.query_one(Rows).rows
        )
        if key in self._unfolded or shown:
            self._unfolded.discard(key)
            self._folded.add(key)
        else:
            self._unfolded.add(key)
            self._folded.discard(key)
        self._fill()

    def action_search(self) -> None:
        """Asks what to look for; everything is unfolded first, so that nothing hides."""

        def found(needle: str | None) -> None:
            if not needle:
                return
            before = set(self._unfolded)
            self._unfolded.update(f"layer:{layer}" for layer in LAYERS)
            self._fill()
            rows = self.query_one(Rows)
            self._unfolded.update(r.key for r in rows.rows if r.key.startswith("group:"))
            self._fill()
            if not rows.find(needle):
                self._unfolded = before
                self._fill()
                self.tell(say("search.nothing", text=safe_line(needle)))

        self.app.push_screen(AskText(say("search.title")), found)


def finding_row(finding: Finding, *, indent: int) -> Columns:
    """A finding as a row: status, where, what."""
    return Columns(
        (nodetext.status(finding.status), STATUS_WIDTH),
        (nodetext.line(nodetext.where(finding) or finding.check, "bold"), NODES_WIDTH),
        (nodetext.line(finding.summary), 0),
        indent=indent,
    )
