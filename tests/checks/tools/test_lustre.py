"""Parsers of the storage layer: every form of each tool; what is cut off or missing stays unknown."""

from __future__ import annotations

import random

import pytest

from checks import catalogue
from checks.interpret import interpret
from checks.outputs import Empty, Facts, NotAvailable, Outcome, Output, Raw, Unparsable
from checks.tools.gpfs import Waiters
from checks.tools.lnet import Lnet, LnetStats
from checks.tools.lustre_df import LustreDf, Quotas
from checks.tools.lustre_layout import Layouts
from checks.tools.lustre_log import LustreLog
from checks.tools.lustre_params import ClientStats, Imports, RpcStats, Tunables
from checks.tools.lustre_server import BrwStats, JobStats, ServerHealth
from checks.tools.nfs import MountStats, NfsLog
from sample_clusters.make import storage
from tests.checks.tools.lustre_texts import (
    BRW,
    DF_H,
    DIRECTORIES,
    HEALTH,
    JOBS,
    LNET_STATS,
    LOG,
    MIRRORS,
    NFS,
    NFS_LOG,
    PFL,
    QUOTA,
    SAMPLES,
    SPEC,
    TABLE,
    WAITERS,
)


def parsed(command: str, text: str, *, status: int = 0) -> Outcome:
    return interpret(Output("n", command, (), 1, text.encode(), b"", status))


def layouts(text: str) -> Layouts:
    found = parsed("lfs-getstripe-file", text)
    assert isinstance(found, Layouts), found
    return found


@pytest.mark.parametrize("command", sorted(SAMPLES))
def test_a_sample_reads_without_an_odd_line_whatever_the_line_ends_and_the_banner(command: str) -> None:
    facts = parsed(command, SAMPLES[command])
    assert isinstance(facts, Facts), facts
    assert facts.odd == ()
    assert parsed(command, SAMPLES[command].replace("\n", "\r\n")) == facts
    banner = parsed(
        command, "*** Authorised use only ***\nLast login: Tue Mar  3 22:10 from 10.0.0.5\n" + SAMPLES[command]
    )
    assert isinstance(banner, Facts), banner


@pytest.mark.parametrize("command", sorted(SAMPLES))
def test_no_cut_and_no_noise_makes_a_parser_raise(command: str) -> None:
    parse = catalogue.parser(command)
    assert parse is not None
    text, chance = SAMPLES[command], random.Random(7)
    lines = text.split("\n")
    for n in range(0, len(lines), max(1, len(lines) // 80)):
        for cut in ("\n".join(lines[:n]), "\n".join([*lines[:n], lines[n][: len(lines[n]) // 2]])):
            assert isinstance(parse(Raw.of(cut)), Facts | Empty | Unparsable | NotAvailable)
    for _ in range(40):
        assert isinstance(parse(Raw.of(chance.randbytes(300))), Facts | Empty | Unparsable | NotAvailable)


@pytest.mark.parametrize("command", sorted(set(SAMPLES) - {"lustre-log", "nfs-log"}))
def test_the_output_of_another_tool_gives_no_facts(command: str) -> None:
    tool = catalogue.get(command).tool
    for other, text in SAMPLES.items():
        if catalogue.get(other).tool != tool:
            assert not isinstance(parsed(command, text), Facts | Empty), other


def test_a_directory_default_is_one_layout_without_a_path() -> None:
    found = layouts("stripe_count:  4 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n\n")
    assert [(x.path, x.default, x.components[0].stripe_count) for x in found.layouts] == [(None, True, 4)]


def test_several_directories_keep_their_own_defaults_and_numeric_patterns() -> None:
    found = layouts(DIRECTORIES).layouts
    assert [x.path for x in found] == ["/lustre/proj", "/lustre/proj/wide"]
    assert [(x.components[0].stripe_count, x.components[0].pattern, x.components[0].pool) for x in found] == [
        (1, "0", None),
        (-1, "raid0", "flash"),
    ]


def test_a_files_yaml_gives_count_and_the_osts_it_lies_on() -> None:
    component = layouts(storage.newest(SPEC)).layouts[0].components[0]
    assert (component.stripe_count, component.stripe_size, component.osts) == (4, 16777216, (15, 16, 17, 18))
    assert component.stripe_count_line == 2


def test_the_old_table_of_objects_gives_the_osts() -> None:
    component = layouts(TABLE).layouts[0].components[0]
    assert (component.stripe_count, component.osts, component.pattern) == (2, (21, 22), "1")


def test_a_big_file_is_judged_by_the_component_that_holds_its_end() -> None:
    layout = layouts(PFL).layouts[0]
    assert [(c.stripe_count, c.start, c.end, c.initialised) for c in layout.components] == [
        (1, 0, 67108864, True),
        (4, 67108864, 17179869184, False),
        (-1, 17179869184, None, False),
    ]
    assert layout.at(1e6).stripe_count == 1
    assert layout.at(1e9).stripe_count == 4
    assert layout.at(120e9).stripe_count == -1


def test_of_two_mirrors_the_narrowest_counts() -> None:
    layout = layouts(MIRRORS).layouts[0]
    assert [(c.mirror, c.stripe_count, c.pool, c.osts) for c in layout.components] == [
        (1, 2, "flash", (8, 9)),
        (2, 12, "disk", ()),
    ]
    assert layout.at(120e9).stripe_count == 2


def test_a_composite_layout_cut_after_a_component_is_odd() -> None:
    cut = PFL[: PFL.index("  component2:")]
    assert layouts(cut).odd


def test_objects_missing_at_the_end_are_odd() -> None:
    text = storage.newest(SPEC)
    assert layouts("\n".join(text.split("\n")[:-3]) + "\n").odd


def test_a_path_that_is_not_on_lustre_has_no_layout() -> None:
    said = "error: lfs getstripe: cannot get lov name: Inappropriate ioctl for device (25)\n"
    found = parsed("lfs-getstripe", said, status=25)
    assert isinstance(found, NotAvailable)
    assert found.kind == "unsupported"


def test_space_with_units_letters_and_targets_that_do_not_answer() -> None:
    found = parsed("lfs-df", DF_H)
    assert isinstance(found, LustreDf)
    assert found.odd == ()
    assert [(t.name, t.used_pct, t.flags, t.active) for t in found.of("OST")] == [
        ("fs-OST0000", 59.0, "D", True),
        ("fs-OST0001", 100.0, "SI", True),
        ("fs-OST0002", 59.0, "", True),
        ("OST0003", None, "", False),
        ("fs-OST000a", None, "", False),
    ]
    assert found.of("OST")[0].total == pytest.approx(87.3 * 1024**3)
    assert found.of("OST")[4].index == 10


def test_space_in_blocks_counts_every_target() -> None:
    found = parsed("lfs-df", storage.space(SPEC))
    assert isinstance(found, LustreDf)
    assert (len(found.of("MDT")), len(found.of("OST")), found.mount) == (2, 48, "/lustre")
    assert [t.name for t in found.of("OST") if (t.used_pct or 0) > 85] == ["lustre-OST0011"]


def test_a_list_without_its_summary_is_odd() -> None:
    text = storage.space(SPEC)
    found = parsed("lfs-df", text[: text.index("lustre-OST0020")])
    assert isinstance(found, LustreDf)
    assert found.odd


def test_inodes_are_not_space() -> None:
    assert isinstance(parsed("lfs-df", storage.inodes(SPEC)), Unparsable)
    assert isinstance(parsed("lfs-dfi", storage.space(SPEC)), Unparsable)


@pytest.mark.parametrize(
    ("text", "used_kib", "exceeded"),
    [
        (QUOTA, 1843200, True),
        ("     /lustre    1.5T      2T      2T       -    1200       0       0       -\n", 1.5 * 1024**3, False),
        ("Disk quotas for usr ana (uid 1001):\n/lustre/deep/place\n     4096* 1024 2048 6d 12 0 0 -\n", 4096, True),
    ],
)
def test_a_quota_reads_with_star_units_and_a_long_mount_point(text: str, used_kib: float, exceeded: bool) -> None:
    found = parsed("lfs-quota", text)
    assert isinstance(found, Quotas)
    assert (found.blocks.used, found.blocks.exceeded, found.files.exceeded) == (used_kib, exceeded, False)


def test_a_use_in_brackets_is_not_whole() -> None:
    found = parsed("lfs-quota", "     /lustre  [4096]      0       0       -      12       0       0       -\n")
    assert isinstance(found, Quotas)
    assert found.odd


def test_imports_give_state_nid_and_attempts() -> None:
    found = parsed("lctl-import", storage.imports(SPEC).replace("state: FULL", "state: DISCONN", 1))
    assert isinstance(found, Imports)
    assert len(found.imports) == 50
    assert [i.target for i in found.imports if i.state != "FULL"] == ["lustre-OST0000"]
    assert (found.imports[0].nid, found.imports[0].attempts) == ("10.10.0.11@o2ib", 1)


def test_tunables_and_histograms_are_kept_by_target() -> None:
    tune = parsed("lctl-osc-tune", storage.tunables(SPEC))
    assert isinstance(tune, Tunables)
    assert tune.all_of("max_rpcs_in_flight")["lustre-OST0000"] == 64
    stats = parsed("lctl-rpc-stats", storage.rpcs(SPEC))
    assert isinstance(stats, RpcStats)
    assert stats.targets[0].in_flight == {1: 39.0, 2: 40.0, 8: 21.0}
    assert stats.targets[0].pages[4096] == 99.0


def test_client_operations_have_count_and_sum() -> None:
    found = parsed("lctl-llite-stats", storage.llite(1))
    assert isinstance(found, ClientStats)
    assert (found.operations["open"].count, found.operations["open"].total) == (184260, 184260 * 420)


def test_events_of_lustre_in_order_with_their_target_and_code() -> None:
    found = parsed("lustre-log", LOG)
    assert isinstance(found, LustreLog)
    assert [(e.kind, e.target) for e in found.events] == [
        ("lost", "fs-OST0003"),
        ("evicted", "fs-OST0003"),
        ("restored", "fs-OST0003"),
        ("error", "fs-MDT0000"),
    ]
    assert found.events[3].code == -28


def test_an_empty_log_is_empty_and_a_hidden_one_is_not() -> None:
    assert isinstance(parsed("lustre-log", "-- No entries --\n", status=1), Empty)
    hint = "Hint: You are currently not seeing messages from other users and the system.\n"
    assert isinstance(parsed("lustre-log", hint, status=1), NotAvailable)


def test_lnet_leaves_the_loopback_out() -> None:
    found = parsed("lnet", storage.lnet(SPEC, 0))
    assert isinstance(found, Lnet)
    assert [(n.net, n.interfaces, n.status, n.health) for n in found.nids] == [("o2ib", ("eth1",), "up", 1000)]


def test_lnet_counts_drops_and_resends() -> None:
    found = parsed("lnet-stats", LNET_STATS)
    assert isinstance(found, LnetStats)
    assert (found.values["drop_count"], found.values["resend_count"]) == (4, 9)


def test_nfs_mounts_count_requests_sent_again() -> None:
    found = parsed("nfs-mountstats", NFS)
    assert isinstance(found, MountStats)
    mount = found.mounts[0]
    assert (mount.server, mount.export, mount.target, found.others) == ("10.20.0.5", "/export/data", "/data", 2)
    assert (mount.operations, mount.retransmissions, mount.ops["READ"].timeouts) == (60001, 17, 2)


def test_nfs_complaints_name_the_server_and_its_return() -> None:
    found = parsed("nfs-log", NFS_LOG)
    assert isinstance(found, NfsLog)
    assert [(e.kind, e.server) for e in found.events] == [
        ("not-responding", "10.20.0.5"),
        ("ok", "10.20.0.5"),
        ("timed-out", "filer2"),
    ]


def test_waiters_have_their_time_and_reason_decoded() -> None:
    found = parsed("gpfs-waiters", WAITERS)
    assert isinstance(found, Waiters)
    assert [(w.seconds, w.reason) for w in found.waiters] == [
        (61.25, "for I/O completion"),
        (0.8, "waiting for reply: node2"),
    ]
    assert isinstance(parsed("gpfs-waiters", WAITERS.split("\n")[0] + "\n"), Empty)


def test_io_times_of_an_ost_add_reads_and_writes() -> None:
    found = parsed("oss-brw", BRW)
    assert isinstance(found, BrwStats)
    assert found.targets[0].target == "fs-OST0004"
    assert found.targets[0].ios_by_ms == {4: 3960, 512: 100, 1000: 243}
    assert found.targets[0].slow_share(512) == pytest.approx(243 / 4303)


def test_bytes_by_job_on_a_server() -> None:
    found = parsed("oss-jobstats", JOBS)
    assert isinstance(found, JobStats)
    assert [(j.job, j.read_bytes, j.write_bytes) for j in found.jobs] == [
        ("88123", 9437184, 1677721600),
        ("rsync.0", 9437184000, 0),
    ]


def test_a_server_tells_its_health_and_recoveries() -> None:
    found = parsed("srv-health", HEALTH)
    assert isinstance(found, ServerHealth)
    assert found.healthy is True
    assert found.recovery == {"fs-OST0000": "COMPLETE", "fs-MDT0000": "RECOVERING"}
