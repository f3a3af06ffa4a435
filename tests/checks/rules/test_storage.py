"""What is said of the storage: healthy, one thing wrong, something missing."""

from __future__ import annotations

from typing import Any

import pytest

from checks import rules
from checks.findings import Finding, Status
from checks.rules.storage.striping import recommended
from sample_clusters.make import storage
from tests import builders
from tests.checks.rules.storage_files import (
    DF_LOCAL,
    DIR,
    EMPTY,
    FILE,
    FINDMNT,
    LINKS,
    LUSTRE,
    MOUNT,
    NARROW,
    NODES,
    SERVERS,
    WIDE,
    found,
    healthy,
    narrow,
    without,
)
from tests.checks.tools.lustre_texts import BRW, JOBS, LOG, NFS, NFS_LOG, QUOTA, WAITERS

CLIENT = [
    "storage.striping",
    "storage.ost_space",
    "storage.inodes",
    "storage.targets",
    "storage.client_limits",
    "storage.lnet",
    "storage.evictions",
    "storage.mounts",
    "storage.metadata",
    "network.storage_path",
]


def faults(findings: list[Finding]) -> set[str]:
    return {f for x in findings if x.status > Status.OK for f in x.faults}


@pytest.mark.parametrize("check", CLIENT)
def test_a_healthy_file_system_is_ok(check: str) -> None:
    findings = found(check)
    assert {f.status for f in findings} == {Status.OK}, [(f.status, f.summary) for f in findings]
    assert all(f.evidence for f in findings) or check == "storage.evictions"


@pytest.mark.parametrize("check", CLIENT)
def test_a_reading_taken_away_is_unknown_and_never_healthier_or_worse(check: str) -> None:
    rule = rules.get(check)
    assert rule is not None
    for read in rule.reads:
        findings = builders.findings(check, without(read.command), LUSTRE)
        assert findings[0].status <= Status.UNKNOWN, (read.command, findings)
        if not read.optional:
            assert findings[0].status == Status.UNKNOWN, read.command
            # the newest file is judged by its own layout, whatever the directory says
            assert not [f for f in findings if f.status == Status.OK and f.entities != (FILE,)]


@pytest.mark.parametrize("check", ["storage.nfs", "storage.gpfs"])
def test_checks_of_other_file_systems_are_skipped_with_the_reason(check: str) -> None:
    assert [(f.status, f.reason) for f in found(check)] == [(Status.SKIPPED, "the storage here is lustre")]


@pytest.mark.parametrize("check", ["storage.ost_speed", "storage.neighbours"])
def test_servers_that_are_not_in_the_inventory_are_not_asked(check: str) -> None:
    assert [f.status for f in found(check)] == [Status.SKIPPED]


def test_a_quota_is_looked_at_only_when_a_user_is_named() -> None:
    assert [f.status for f in found("storage.quota")] == [Status.SKIPPED]
    over = found("storage.quota", {("gpu1", "lfs-quota", "ana", MOUNT): QUOTA})
    assert (over[0].status, over[0].faults, over[0].entities) == (Status.CRITICAL, ("st-quota",), ("user ana",))
    within = found("storage.quota", {("gpu1", "lfs-quota", "ana", MOUNT): QUOTA.replace("1843200*", "1000")})
    assert [f.status for f in within] == [Status.OK]


def test_a_checkpoint_on_four_osts_names_the_stripe_count_and_the_seconds_saved() -> None:
    worst = found("storage.striping", narrow())[0]
    assert (worst.status, worst.faults, worst.certainty) == (Status.CRITICAL, ("st-default-striping",), "established")
    assert worst.entities == (DIR, FILE)
    values = {o.name: o.value for o in worst.observed}
    assert (values["stripe_count"], values["recommended_stripe_count"]) == (4, 32)
    assert (values["stall_s"], values["stall_recommended_s"], values["seconds_saved"]) == (30.0, 3.8, 26.2)
    assert "stripe count 32" in worst.summary
    assert "at 1 GB/s per OST" in worst.summary
    assert any("lustre-OST002f" in e.text for e in worst.evidence)


def test_without_the_list_of_osts_striping_is_not_judged() -> None:
    files = {k: v for k, v in {**healthy(), **narrow()}.items() if "lfs-df" not in k}
    assert {f.status for f in builders.findings("storage.striping", files, LUSTRE)} == {Status.UNKNOWN}


def test_without_a_size_striping_is_not_judged() -> None:
    spec = {**LUSTRE, "storage": {"kind": "lustre", "mount": MOUNT, "checkpoint_dir": DIR}}
    assert {f.status for f in found("storage.striping", narrow(), spec)} == {Status.UNKNOWN}


def test_a_stripe_count_of_minus_one_means_all_osts() -> None:
    text = storage.directory(WIDE).replace("32", "-1", 1)
    assert {f.status for f in found("storage.striping", {("gpu1", "lfs-getstripe", DIR): text})} == {Status.OK}


def test_a_default_that_is_inherited_and_not_told_is_unknown() -> None:
    text = storage.directory(WIDE).replace("32", "0", 1)
    assert found("storage.striping", {("gpu1", "lfs-getstripe", DIR): text})[0].status == Status.UNKNOWN


def test_an_old_narrow_file_in_a_wide_directory_is_only_a_hint() -> None:
    findings = found("storage.striping", {("gpu1", "lfs-getstripe-file", FILE): storage.newest(NARROW)})
    assert (findings[0].status, findings[0].certainty) == (Status.WARN, "hypothesis")


def test_a_narrow_directory_beside_a_wide_one_is_that_directorys_own() -> None:
    other = "/lustre/ckpt-old"
    spec = {**LUSTRE, "storage": {"kind": "lustre", "mount": MOUNT, "checkpoint_file_gb": 120}}
    findings = found("storage.striping", {("gpu1", "lfs-getstripe", other): storage.directory(NARROW)}, spec)
    assert (findings[0].faults, findings[0].entities) == (("st-stripe-one-dir",), (other,))


def test_small_files_on_many_osts_are_overstriped() -> None:
    spec = {**LUSTRE, "storage": {**LUSTRE["storage"], "checkpoint_file_gb": 0.0005}}
    findings = found("storage.striping", spec=spec)
    assert (findings[0].status, findings[0].faults) == (Status.WARN, ("st-overstriped-small",))


@pytest.mark.parametrize(
    ("size_gb", "osts", "expected"), [(120, 48, 32), (20, 48, 8), (120, 12, 12), (120, 4, 4), (4000, 500, 160)]
)
def test_the_recommended_stripe_count_fits_size_and_targets(size_gb: float, osts: int, expected: int) -> None:
    assert recommended(size_gb, osts, budget_s=5) == expected


def test_one_nearly_full_ost_is_a_hypothesis_and_no_imbalance() -> None:
    findings = found("storage.ost_space", narrow())
    assert [(f.status, f.faults, f.certainty, f.entities) for f in findings] == [
        (Status.WARN, (), "established", ("lustre-OST0011",))
    ]


def test_a_full_ost_is_established() -> None:
    text = storage.space(NARROW).replace(" 90% /lustre[OST:17]", " 97% /lustre[OST:17]")
    findings = found("storage.ost_space", {("gpu1", "lfs-df", MOUNT): text})
    assert [(f.status, f.faults, f.certainty) for f in findings] == [(Status.CRITICAL, ("st-ost-full",), "established")]


def test_a_spread_without_a_full_ost_is_an_imbalance() -> None:
    text = storage.space(WIDE)
    for i in range(0, 48, 2):
        for share in range(54, 59):
            text = text.replace(f" {share}% /lustre[OST:{i}]", f" 78% /lustre[OST:{i}]")
    findings = found("storage.ost_space", {("gpu1", "lfs-df", MOUNT): text})
    assert [(f.status, f.faults, f.certainty) for f in findings] == [(Status.WARN, ("st-ost-imbalance",), "supported")]


def test_a_list_of_targets_that_is_cut_off_clears_nothing() -> None:
    text = storage.space(WIDE)
    findings = found("storage.ost_space", {("gpu1", "lfs-df", MOUNT): text[: text.index("lustre-OST0020")]})
    assert {f.status for f in findings} == {Status.UNKNOWN}


def test_an_mdt_out_of_inodes_is_critical() -> None:
    text = storage.inodes(WIDE).replace("11% /lustre[MDT:1]", "98% /lustre[MDT:1]")
    findings = found("storage.inodes", {("gpu1", "lfs-dfi", MOUNT): text})
    assert (findings[0].status, findings[0].faults, findings[0].entities) == (
        Status.CRITICAL,
        ("st-inodes",),
        ("lustre-MDT0001",),
    )


def test_a_target_that_a_client_lost_is_named() -> None:
    text = storage.imports(WIDE).replace("state: FULL", "state: DISCONN", 1)
    findings = found("storage.targets", {("gpu3", "lctl-import"): text})
    assert (findings[0].status, findings[0].faults, findings[0].nodes) == (Status.CRITICAL, ("st-ost-down",), "gpu3")
    assert findings[0].entities == ("lustre-OST0000",)
    idle = storage.imports(WIDE).replace("state: FULL", "state: IDLE")
    assert {f.status for f in found("storage.targets", {(NODES, "lctl-import"): idle})} == {Status.OK}


def test_an_import_that_is_not_listed_clears_nothing() -> None:
    text = storage.imports(WIDE)
    cut = text[: text.index("osc.lustre-OST0020")]
    findings = found("storage.targets", {("gpu3", "lctl-import"): cut})
    assert [(f.status, f.nodes) for f in findings if f.status > Status.OK] == [(Status.UNKNOWN, "gpu3")]


def test_an_inactive_and_a_degraded_target_are_seen_in_the_space_list() -> None:
    text = storage.space(WIDE).replace("[OST:5]", "[OST:5] D")
    text = text.replace("\nfilesystem_summary", "OST0030             : inactive device\n\nfilesystem_summary")
    findings = found("storage.targets", {("gpu1", "lfs-df", MOUNT): text})
    seen = {(f.status, f.faults, f.entities) for f in findings if f.status in (Status.WARN, Status.CRITICAL)}
    assert seen == {
        (Status.CRITICAL, ("st-ost-down",), ("OST0030",)),
        (Status.WARN, ("st-oss-slow",), ("lustre-OST0005",)),
    }


def test_rpcs_at_the_clients_own_limit_are_a_tuning_fault() -> None:
    tune = storage.tunables(WIDE).replace("max_rpcs_in_flight=64", "max_rpcs_in_flight=2")
    findings = found("storage.client_limits", {(NODES, "lctl-osc-tune"): tune})
    assert (findings[0].status, findings[0].faults) == (Status.WARN, ("st-client-tuning",))


def test_tiny_writes_on_most_targets_are_lock_contention() -> None:
    text = storage.rpcs(WIDE).replace("4096:  ", "4:     ")
    findings = found("storage.client_limits", {(NODES, "lctl-rpc-stats"): text})
    assert (findings[0].status, findings[0].faults) == (Status.WARN, ("st-lock-contention",))


def test_lustre_over_the_management_port_names_the_node() -> None:
    text = storage.lnet(WIDE, 1).replace("@o2ib", "@tcp").replace("net type: o2ib", "net type: tcp")
    findings = found("storage.lnet", {("gpu2", "lnet"): text.replace("0: eth1", "0: eth0")})
    assert (findings[0].status, findings[0].faults, findings[0].nodes) == (Status.CRITICAL, ("st-lnet",), "gpu2")


def test_lnet_that_does_not_tell_its_interface_is_unknown() -> None:
    text = storage.lnet(WIDE, 1).replace("          interfaces:\n              0: eth1\n", "")
    findings = found("storage.lnet", {("gpu2", "lnet"): text})
    assert [(f.status, f.nodes) for f in findings if f.status > Status.OK] == [(Status.UNKNOWN, "gpu2")]


def test_lustre_on_a_compute_rail_is_named() -> None:
    text = storage.lnet(WIDE, 1).replace("0: eth1", "0: eth3")
    findings = found("network.storage_path", {("gpu2", "lnet"): text})
    assert (findings[0].status, findings[0].faults, findings[0].entities) == (
        Status.CRITICAL,
        ("net-storage-on-rail",),
        ("gpu2:eth3",),
    )


def test_an_eviction_is_critical_and_carries_its_time() -> None:
    worst = found("storage.evictions", {("gpu3", "lustre-log"): LOG})[0]
    assert (worst.status, worst.faults, worst.nodes) == (Status.CRITICAL, ("st-client-evicted",), "gpu3")
    assert worst.entities == ("fs-OST0003",)


def test_a_lost_connection_counts_until_it_is_restored() -> None:
    lines = LOG.splitlines(keepends=True)
    lost = found("storage.evictions", {("gpu3", "lustre-log"): lines[0]})
    assert (lost[0].status, lost[0].faults) == (Status.CRITICAL, ("st-ost-down",))
    restored = found("storage.evictions", {("gpu3", "lustre-log"): lines[0] + lines[2]})
    assert {f.status for f in restored} == {Status.OK}


@pytest.mark.parametrize(
    ("text", "certainty"),
    [
        (FINDMNT.replace('"target":"/lustre"', '"target":"/scratch"'), "established"),
        (FINDMNT.replace("rw,flock", "ro,flock"), "supported"),
    ],
)
def test_a_missing_or_read_only_mount_names_the_node(text: str, certainty: str) -> None:
    worst = found("storage.mounts", {("gpu4", "findmnt"): text})[0]
    assert (worst.status, worst.faults, worst.nodes) == (Status.CRITICAL, ("st-mount-missing",), "gpu4")
    assert worst.certainty == certainty


def test_many_slow_opens_point_to_the_metadata_server() -> None:
    before = "llite.lustre-ffff1.stats=\nopen 1000 samples [usecs] 88 21441 420000 510000\n"
    after = "llite.lustre-ffff1.stats=\nopen 91000 samples [usecs] 88 99441 3600420000 510000\n"
    changed = {(1, NODES, "lctl-llite-stats"): before, (2, NODES, "lctl-llite-stats"): after}
    findings = found("storage.metadata", changed)
    assert (findings[0].status, findings[0].faults) == (Status.WARN, ("st-mds-small-files",))


def test_counters_of_one_round_give_no_rate() -> None:
    files = {k: v for k, v in healthy().items() if k[0] != 2}
    assert {f.status for f in builders.findings("storage.metadata", files, LUSTRE)} == {Status.UNKNOWN}


def test_a_full_local_cache_is_told() -> None:
    assert {f.status for f in found("storage.hot_tier", {(NODES, "df-local"): DF_LOCAL})} == {Status.OK}
    full = found("storage.hot_tier", {("gpu1", "df-local"): DF_LOCAL.replace("12% /cache", "99% /cache")})
    assert "st-cache-cold" in faults(full)
    none = DF_LOCAL.rsplit("/dev/md1", 1)[0]
    assert {f.status for f in found("storage.hot_tier", {(NODES, "df-local"): none})} == {Status.SKIPPED}


def test_one_slow_ost_stands_out_among_its_peers() -> None:
    quick = BRW.replace("|  203   6 100", "|    3   0 100").replace("40  40 100", " 0   0 100")
    three = "".join(quick.replace("OST0004", f"OST000{i}") for i in range(3))
    healthy_servers = found("storage.ost_speed", {("oss[1-2]", "oss-brw"): three}, SERVERS)
    assert {f.status for f in healthy_servers} == {Status.OK}
    slow = found("storage.ost_speed", {("oss1", "oss-brw"): three, ("oss2", "oss-brw"): BRW}, SERVERS)
    assert (slow[0].status, slow[0].faults, slow[0].entities, slow[0].certainty) == (
        Status.CRITICAL,
        ("st-oss-slow",),
        ("fs-OST0004",),
        "established",
    )


def test_a_job_that_moves_most_of_the_bytes_is_named_as_a_hypothesis() -> None:
    changed = {
        (1, "oss[1-2]", "oss-jobstats"): JOBS,
        (2, "oss[1-2]", "oss-jobstats"): JOBS.replace("9437184000", "99437184000"),
    }
    noisy = found("storage.neighbours", changed, SERVERS)
    assert (noisy[0].status, noisy[0].faults, noisy[0].entities) == (Status.WARN, ("st-noisy",), ("job rsync.0",))
    still = found(
        "storage.neighbours", {("oss[1-2]", "oss-jobstats"): JOBS, (2, "gpu1", "df-local"): DF_LOCAL}, SERVERS
    )
    assert faults(still) == set()


def nfs(before: str, after: str, log: Any = EMPTY) -> list[Finding]:
    spec = {"storage": {"kind": "nfs", "mount": "/data"}}
    files = {
        (1, NODES, "nfs-mountstats"): before,
        (2, NODES, "nfs-mountstats"): after,
        (NODES, "nfs-log"): log,
    }
    return builders.findings("storage.nfs", files, spec)


def test_nfs_without_new_repeats_is_ok_whatever_happened_before() -> None:
    assert {f.status for f in nfs(NFS, NFS.replace("8000 8004", "9000 9004"))} == {Status.OK}


def test_nfs_requests_sent_again_are_slow_and_a_silent_server_is_down() -> None:
    slow = nfs(NFS, NFS.replace("8000 8004", "9000 9104"))
    assert (slow[0].status, slow[0].faults) == (Status.WARN, ("st-nfs-slow",))
    down = nfs(NFS, NFS, NFS_LOG)
    assert (down[0].status, down[0].faults, down[0].entities) == (Status.CRITICAL, ("st-nfs-down",), ("filer2",))


def test_an_nfs_mount_that_is_new_gives_no_rate() -> None:
    assert {f.status for f in nfs(NFS.replace("/data", "/other"), NFS)} == {Status.UNKNOWN}


def test_nfs_over_a_compute_rail_is_seen_by_its_route() -> None:
    spec = {"storage": {"kind": "nfs", "mount": "/data"}, "interfaces": LUSTRE["interfaces"]}
    mounts = FINDMNT.replace("10.10.0.1@o2ib:10.10.0.2@o2ib:/lustre", "10.20.0.5:/export/data").replace(
        "lustre", "nfs4"
    )
    routes = '[{"dst":"default","gateway":"10.0.0.1","dev":"eth0"},{"dst":"10.20.0.0/16","dev":"eth1"}]\n'
    files = {
        (NODES, "rdma-link"): LINKS,
        (NODES, "findmnt"): mounts,
        (NODES, "ip-route"): routes,
        ("gpu2", "ip-route"): routes.replace("eth1", "eth2"),
    }
    findings = builders.findings("network.storage_path", files, spec)
    assert (findings[0].status, findings[0].entities) == (Status.CRITICAL, ("gpu2:eth2",))
    assert findings[1].status == Status.OK


def test_long_waiters_of_gpfs_are_a_fault_and_short_ones_are_not() -> None:
    spec = {"storage": {"kind": "gpfs", "mount": "/gpfs"}}
    long = builders.findings("storage.gpfs", {(NODES, "gpfs-waiters"): WAITERS}, spec)
    assert (long[0].status, long[0].faults, long[0].certainty) == (
        Status.CRITICAL,
        ("st-gpfs-waiters",),
        "established",
    )
    short = builders.findings("storage.gpfs", {(NODES, "gpfs-waiters"): WAITERS.replace("61.2500", "0.1")}, spec)
    assert {f.status for f in short} == {Status.OK}
    untold = builders.findings(
        "storage.gpfs", {(NODES, "gpfs-waiters"): WAITERS.replace("61.2500", "").replace(":0.8:", "::")}, spec
    )
    assert {f.status for f in untold} == {Status.UNKNOWN}
