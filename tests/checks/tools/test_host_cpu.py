"""Processors, governors, idle states, kernel set-up and `mpstat`: exact values, every form, what is missing."""

from __future__ import annotations

import pytest

from checks.outputs import Empty, Unparsable
from tests.checks.tools.host_texts import facts, odd_lines, read, recorded

LSCPU = (
    "Architecture:        x86_64\nCPU(s):              192\nOn-line CPU(s) list: 0-191\nThread(s) per core:  2\n"
    "Core(s) per socket:  48\nSocket(s):           2\nNUMA node(s):        2\nModel name:          Some CPU @ 2.4GHz\n"
    "CPU MHz:             2400.000\nCPU max MHz:         3800.0000\nHypervisor vendor:   KVM\n"
    "NUMA node0 CPU(s):   0-47,96-143\nNUMA node1 CPU(s):   48-95,144-191\nFlags:               fpu vme de\n"
)


def test_lscpu_text_gives_every_value() -> None:
    found = facts("cpu-info", LSCPU)
    assert (found.cpus, found.sockets, found.cores_per_socket, found.threads_per_core) == (192, 2, 48, 2)
    assert (found.cores, found.numa_nodes, found.numa_cpus) == (96, 2, {0: "0-47,96-143", 1: "48-95,144-191"})
    assert (found.model, found.mhz, found.max_mhz, found.hypervisor) == ("Some CPU @ 2.4GHz", 2400.0, 3800.0, "KVM")
    assert (found.line, found.cpus_line, found.cores_line) == (2, 2, 5)


def test_lscpu_json_gives_the_same_facts_as_the_text() -> None:
    found = facts("cpu-info", recorded("cpu-info"))
    assert (found.cpus, found.cores, found.sockets, found.threads_per_core) == (96, 96, 2, 1)
    assert recorded("cpu-info").split("\n")[found.cpus_line - 1].strip() == '"data": "96"'


def test_lscpu_of_newer_versions_nests_its_groups() -> None:
    text = (
        '{"lscpu": [{"field": "CPU(s):", "data": "64", "children": [{"field": "On-line CPU(s):", "data": "0-63"}]},'
        '{"field": "Vendor ID:", "data": "X", "children": [{"field": "Model name:", "data": "M", "children": ['
        '{"field": "Thread(s) per core:", "data": "1"}, {"field": "Core(s) per socket:", "data": "32"},'
        '{"field": "Socket(s):", "data": "2"}]}]},'
        '{"field": "NUMA:", "data": null, "children": [{"field": "NUMA node(s):", "data": "1"}]}]}\n'
    )
    found = facts("cpu-info", text)
    assert (found.cpus, found.cores, found.numa_nodes, found.model, found.odd) == (64, 64, 1, "M", ())


@pytest.mark.parametrize("dash", ["-", "N/A", "unknown"])
def test_a_processor_without_sockets_has_none_and_is_doubted(dash: str) -> None:
    found = facts("cpu-info", LSCPU.replace("Socket(s):           2", f"Socket(s):           {dash}"))
    assert (found.sockets, found.cores) == (None, 96)  # 192 threads, two a core
    assert [o.text for o in found.odd] == ["no value for sockets"]


def test_lscpu_in_another_language_lacks_values_and_is_doubted() -> None:
    text = "Architektur: x86_64\nCPU(s): 96\nThread(s) pro Kern: 2\nKern(e) pro Sockel: 24\nSockel: 2\n"
    found = facts("cpu-info", text)
    assert (found.cpus, found.threads_per_core, found.cores) == (96, None, None)
    assert found.odd
    assert isinstance(read("cpu-info", "Architektur: x86_64\nProzessoren: 96\n"), Unparsable)


def test_processors_that_are_no_number_are_none_and_never_zero() -> None:
    found = facts("cpu-info", LSCPU.replace("CPU(s):              192", "CPU(s):              -", 1))
    assert found.cpus is None


def test_governors_by_policy_and_by_cpu() -> None:
    text = (
        "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor:performance\n"
        "/sys/devices/system/cpu/cpu7/cpufreq/scaling_governor:schedutil\n"
    )
    assert [(p.name, p.value, p.line) for p in facts("cpu-governor", text).policies] == [
        ("policy0", "performance", 1),
        ("cpu7", "schedutil", 2),
    ]
    assert len(facts("cpu-governor", recorded("cpu-governor")).policies) == 96


def test_half_a_governor_is_odd_and_no_other_governor() -> None:
    text = recorded("cpu-governor")
    cut = text[: text.index("\n", 200) - 4]  # performance is cut to perform
    found = facts("cpu-governor", cut)
    assert {p.value for p in found.policies} == {"performance"}
    assert [o.line for o in found.odd] == [cut.count("\n") + 1]


def test_no_cpufreq_means_that_the_firmware_decides() -> None:
    none = "grep: /sys/devices/system/cpu/cpufreq/policy*/scaling_governor: No such file or directory\n"
    assert isinstance(read("cpu-governor", none), Empty)


def test_idle_states_carry_name_and_switch() -> None:
    found = facts("cpu-idle", recorded("cpu-idle"))
    assert [(s.state, s.name, s.disabled) for s in found.states] == [
        (0, "POLL", False),
        (1, "C1", False),
        (2, "C2", True),
    ]
    odd = facts("cpu-idle", recorded("cpu-idle").replace("state1/disable:0", "state1/disable:x"))
    assert odd.states[1].disabled is None


def test_the_kernel_command_line_is_split_and_the_last_word_counts() -> None:
    text = "BOOT_IMAGE=/vmlinuz-5.15.0 root=UUID=1-2 ro iommu=off quiet iommu=pt intel_idle.max_cstate=1\n"
    found = facts("cmdline", text)
    assert (found.options["iommu"], found.options["intel_idle.max_cstate"]) == ("pt", "1")
    assert found.flags == ("ro", "quiet")


def test_iommu_groups_tell_their_type_and_none_means_off() -> None:
    text = "/sys/kernel/iommu_groups/0/type:identity\n/sys/kernel/iommu_groups/17/type:DMA-FQ\n"
    assert [(g.name, g.value) for g in facts("iommu-groups", text).groups] == [("0", "identity"), ("17", "DMA-FQ")]
    assert isinstance(read("iommu-groups", "grep: /sys/kernel/iommu_groups/*/type: No such file\n"), Empty)


def test_modules_in_both_forms_are_loaded_or_used() -> None:
    proc = facts("modules", recorded("modules"))
    nvidia = next(m for m in proc.modules if m.name == "nvidia")
    assert (nvidia.size, nvidia.used_by) == (56823808, ("nvidia_uvm", "nvidia_peermem", "nvidia_modeset"))
    lsmod = (
        "Module                  Size  Used by\nib_core               438272  9 ib_uverbs,mlx5_ib\nlustre 1044480  0\n"
    )
    found = facts("modules", lsmod)
    assert [(m.name, m.used_by) for m in found.modules] == [("ib_core", ("ib_uverbs", "mlx5_ib")), ("lustre", ())]
    assert (found.loaded("mlx5-ib"), found.loaded("nvidia_peermem")) == (True, False)


@pytest.mark.parametrize("other", ["ps-dstate", "shm", "df-local", "loadavg"])
def test_a_table_of_numbers_is_no_list_of_modules(other: str) -> None:
    assert isinstance(read("modules", recorded(other)), Unparsable)


def test_mpstat_text_and_json_give_shares_without_the_averages() -> None:
    found = facts("mpstat", recorded("mpstat"))
    assert [(r.cpu, r.user_pct, r.iowait_pct, r.irq_pct, r.steal_pct, r.idle_pct) for r in found.rows] == [
        ("all", 36.1, 12.34, 0.0, 0.0, 48.21),
        ("0", 30.0, 0.0, 0.5, 1.15, 66.0),
    ]
    json = (
        '{"sysstat": {"hosts": [{"nodename": "n", "statistics": [{"timestamp": "02:30:02", "cpu-load": [\n'
        '{"cpu": "all", "usr": 36.10, "sys": 3.20, "iowait": 12.34, "soft": 0.15, "idle": 48.21},\n'
        '{"cpu": "0", "usr": 30.00, "sys": 2.10, "iowait": 0.00, "idle": 66.00}]}]}]}}\n'
    )
    (first, second) = facts("mpstat", json).rows
    assert (first.cpu, first.user_pct, first.steal_pct, first.line) == ("all", 36.1, None, 2)
    assert (second.cpu, second.idle_pct, second.line) == ("0", 66.0, 3)


def test_mpstat_with_am_and_pm_is_read_and_decimal_commas_are_no_numbers() -> None:
    text = "02:30:01 PM  CPU    %usr    %sys   %idle\n02:30:02 PM  all   36.10    3.20   48.21\n"
    (row,) = facts("mpstat", text).rows
    assert (row.cpu, row.user_pct, row.iowait_pct, row.idle_pct) == ("all", 36.1, None, 48.21)
    (comma,) = facts("mpstat", text.replace("36.10", "36,10")).rows
    assert (comma.user_pct, comma.sys_pct) == (None, 3.2)


def test_a_strange_line_among_the_rows_is_odd() -> None:
    assert odd_lines("mpstat", recorded("mpstat") + "Segmentation fault\n") == [6 + 1]
    assert odd_lines("modules", recorded("modules") + "rmmod: ERROR\n") == [recorded("modules").count("\n") + 1]
