"""The command line of the contract: subcommands, shared options, errors and exit statuses."""

from __future__ import annotations

import argparse
import gc
import sys
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from rackside import __version__, status

COMMANDS = {
    "walk": "walk a runbook: from a complaint to the cause, the nodes and the safe next action",
    "check": "run checks without a tree",
    "record": "collect a living cluster into a folder that replays",
    "import": "turn a customer's support bundle into a cluster folder that replays",
    "anonymise": "write a recording again without names, addresses and serial numbers of its site",
    "doctor": "can I reach the nodes, log in, use sudo, find the tools, trust the clocks",
    "worksheet": "compute a sizing or cost worksheet",
    "diff": "compare the facts of two recordings, or of two rounds",
    "list": "clusters, runbooks, checks, commands, faults, thresholds, worksheets",
    "explain": "what a check, fault, threshold, command, runbook or worksheet means and where it comes from",
    "lint": "check runbooks, cluster folders, worksheets and plans: file, line, fix",
    "report": "incident report of a session",
}

_MODULES = {"import": "importing"}
"""Commands whose name is a word of Python."""


class Parser(argparse.ArgumentParser):
    """argparse with the contract's exit status for wrong usage, and a hint instead of a wall of text."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"rackside: {message}\n{self.format_usage()}try `{self.prog} --help`\n")
        raise SystemExit(status.USAGE)


class NoPlugins(ModuleType):
    """Stands where pydantic looks for plugins: importing what reads all installed packages costs 20 ms, for nothing.

    Should pydantic ask it for anything else, the module itself takes over.
    """

    NAME = "pydantic.plugin._loader"

    @staticmethod
    def get_plugins() -> tuple[()]:
        """None; Rackside has no use for them."""
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or sys.modules.get(self.NAME) is not self:
            raise AttributeError(name)
        del sys.modules[self.NAME]
        return getattr(import_module(self.NAME), name)


def run(arguments: list[str]) -> int:
    """Parses and runs one command."""
    from common.errors import RacksideError

    # facts live as long as the process; looking for garbage among them costs a tenth of a headless walk
    gc.set_threshold(50_000, 20, 50)
    sys.modules.setdefault(NoPlugins.NAME, NoPlugins(NoPlugins.NAME))
    try:
        args = _parser(arguments).parse_args(arguments)
        from common.words import set_language

        set_language(args.lang)
        module = args.module or import_module("rackside.commands.open")
        return int(module.run(args))
    except RacksideError as error:
        # it may quote a file of a stranger
        from common.safetext import safe

        sys.stderr.write(f"rackside: {safe(str(error))}\n")
        return error.exit_status
    except KeyboardInterrupt:
        sys.stderr.write("rackside: interrupted\n")
        return status.INTERRUPTED
    except BrokenPipeError:
        return status.HEALTHY


def _parser(arguments: list[str]) -> Parser:
    parser = Parser(
        prog="rackside",
        description="From a complaint to the cause, network first, with the evidence. Read-only, always.",
        epilog="Without a command the terminal application opens. Exit status: 0 healthy, 1 warning, 2 a fault was "
        "concluded, 3 undecided, 64 usage, 65 unreadable input, 69 nothing reached, 74 cannot write, 130 interrupted.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"rackside {__version__}")
    parser.add_argument("--lang", help="language of titles and questions, such as en or zh")
    parser.set_defaults(module=None)
    open_options(parser)
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=Parser)
    wanted = {a for a in arguments if a in COMMANDS}
    for name, text in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        # only the command at hand needs its options; the rest stay names
        if name in wanted:
            module: Any = import_module(f"rackside.commands.{_MODULES.get(name, name)}")
            module.add(sub)
            sub.set_defaults(module=module)
    return parser


def open_options(parser: argparse.ArgumentParser) -> None:
    """Options of `rackside` without a command."""
    cluster_options(parser, required=False)
    parser.add_argument("--runbook", metavar="RUNBOOK", help="start this runbook at once")
    parser.add_argument("--resume", metavar="JOURNAL", help="go on with a walk from its journal")


def cluster_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """`-c` and what goes with it."""
    parser.add_argument(
        "-c",
        "--cluster",
        required=required,
        metavar="C",
        help="name of a shipped sample, a cluster folder, or a cluster.yaml",
    )
    parser.add_argument(
        "--overlay",
        action="append",
        default=[],
        metavar="PATH",
        help="lay a fault over the recording: a path, or the name of one of the cluster's overlays (repeatable)",
    )
    parser.add_argument(
        "--attach",
        action="append",
        default=[],
        metavar="KIND=FILE",
        help="a file a person supplies: job-log, nccl-tests, ib-write-bw, fio, sacct, note (repeatable)",
    )
    live_options(parser)


def live_options(parser: argparse.ArgumentParser, *, always: bool = False) -> None:
    """`--live` and how living nodes are asked; `always` for commands that do nothing else."""
    live = parser.add_argument_group("living nodes")
    if not always:
        live.add_argument("--live", action="store_true", help="ask the nodes over SSH instead of replaying")
        live.add_argument("--record", metavar="FOLDER", help="where to keep the answers (default: the state folder)")
        live.add_argument("--no-record", action="store_true", help="do not keep the answers")
        live.add_argument(
            "--interval", type=seconds, metavar="S", help="seconds between two readings of a rate (default: 60)"
        )
    live.add_argument("--ssh-config", metavar="FILE", help="instead of ~/.ssh/config")


def seconds(text: str) -> float:
    """An option's value in seconds."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86_400:
        raise argparse.ArgumentTypeError(f"`{text}`: seconds from 0 to 86400")
    return value


def format_options(parser: argparse.ArgumentParser, *formats: str) -> None:
    """`--format`, `-o` and `--color`."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"default: {formats[0]}")
    parser.add_argument("-o", "--output", metavar="FILE", help="write into a file, atomically")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="default: auto")
