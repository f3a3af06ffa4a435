"""Local file systems and drives: `df`, mounts, `iostat`, arrays and NVMe logs in their versions and forms."""

from __future__ import annotations

import pytest

from checks.outputs import Empty, NotAvailable, Unparsable
from checks.tools.disks import Df
from tests.checks.tools.host_texts import facts, odd_lines, read, recorded

HEAD = "Filesystem     1024-blocks      Used Available Capacity Mounted on\n"


def test_df_gives_sizes_in_kib_and_the_share_used() -> None:
    found = facts("df-local", recorded("df-local"))
    root = next(r for r in found.rows if r.mount == "/")
    assert (root.source, root.size, root.used, root.available, root.used_pct) == (
        "/dev/nvme0n1p2",
        937284556,
        253066830,
        684217726,
        27.0,
    )
    assert found.unit_bytes == 1024


def test_df_counts_inodes_and_a_dash_is_no_zero() -> None:
    found = facts("df-inodes", recorded("df-inodes"))
    rows = {r.mount: r for r in found.rows}
    assert (rows["/"].size, rows["/"].used, rows["/"].used_pct) == (59531264, 812443, 2.0)
    assert (rows["/boot/efi"].used_pct, found.unit_bytes) == (None, None)


def test_blocks_and_inodes_are_never_taken_for_each_other() -> None:
    for command, other in (("df-local", "df-inodes"), ("df-inodes", "df-local")):
        found = read(command, recorded(other))
        assert isinstance(found, Unparsable)
        assert "inodes" in found.reason


def test_a_device_name_on_a_line_of_its_own_and_blanks_in_a_mount_point_are_read() -> None:
    text = (
        HEAD + "/dev/mapper/vg_system-lv_root_with_long_name\n"
        "                51475068  20000000  28853500      41% /\n"
        "/dev/sdb1       51475068  20000000  28853500      41% /mnt/old disk\n"
    )
    assert [(r.mount, r.used_pct, r.line) for r in facts("df-local", text).rows] == [
        ("/", 41.0, 3),
        ("/mnt/old disk", 41.0, 4),
    ]


@pytest.mark.parametrize(("cells", "used"), [("- - - -", None), ("100 99 -5 105%", 105.0)])
def test_odd_sizes_of_df_stay_what_they_are(cells: str, used: float | None) -> None:
    (row,) = facts("df-local", HEAD + f"/dev/sda1 {cells} /\n").rows
    assert row.used_pct == used


def test_half_a_mount_point_is_no_mount_point() -> None:
    text = recorded("df-local")
    cut = text[: text.index("/local") + 1]  # /local cut to /
    found = facts("df-local", cut)
    assert [r.used_pct for r in found.rows if r.mount == "/"] == [27.0]
    assert found.odd


def test_df_in_another_language_is_no_answer() -> None:
    text = "Dateisystem    1K-Blöcke   Benutzt Verfügbar Verw% Eingehängt auf\n/dev/sda1 100 50 50 50% /\n"
    assert isinstance(read("df-local", text), Unparsable)


def test_df_with_a_stale_mount_is_an_answer_with_a_gap() -> None:
    found = read("df-local", recorded("df-local"), 1, "df: /mnt/old: Stale file handle\n")
    assert isinstance(found, Df)
    assert found.odd


def test_mounts_read_alike_from_every_form() -> None:
    forms = [
        "/dev/sda2 / ext4 ro,relatime,errors=remount-ro 0 0\n/dev/sdb1 /mnt/old\\040disk xfs rw 0 0\n",
        "/dev/sda2 on / type ext4 (ro,relatime,errors=remount-ro)\n/dev/sdb1 on /mnt/old disk type xfs (rw)\n",
        '{"filesystems": [{"target": "/", "source": "/dev/sda2", "fstype": "ext4",'
        '"options": "ro,relatime,errors=remount-ro", "children": [{"target": "/mnt/old disk",'
        '"source": "/dev/sdb1", "fstype": "xfs", "options": "rw"}]}]}\n',
    ]
    for text in forms:
        found = facts("findmnt", text)
        assert [(m.target, m.source, m.fstype, m.read_only) for m in found.mounts] == [
            ("/", "/dev/sda2", "ext4", True),
            ("/mnt/old disk", "/dev/sdb1", "xfs", False),
        ]


def test_a_mount_that_would_turn_read_only_is_not_read_only() -> None:
    assert [m.read_only for m in facts("findmnt", recorded("findmnt")).mounts if m.target == "/"] == [False]


def test_iostat_gives_waits_by_sample_from_json_and_text() -> None:
    rows = [r for r in facts("iostat", recorded("iostat")).rows if r.device == "nvme1n1"]
    assert [r.sample for r in rows] == [1, 2, 3]
    assert (rows[0].read_await_ms, rows[0].write_await_ms, rows[0].util_pct, rows[0].queue) == (0.14, 0.21, 1.4, 0.02)
    text = (
        "Linux 5.15.0 (gpu001) \t03/04/26 \t_x86_64_\t(96 CPU)\n\n"
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "           1.00    0.00    1.00    4.25    0.00   93.75\n\n"
        "Device            r/s     rMB/s   r_await     w/s     wMB/s   w_await  aqu-sz  %util\n"
        "nvme0n1          1.00      2.00      0.30    4.00      0.50     22.70    0.10   9.90\n"
    )
    found = facts("iostat", text)
    (row,) = found.rows
    assert (row.read_kib_s, row.write_kib_s, row.write_await_ms, row.await_ms) == (2048.0, 512.0, 22.7, None)
    assert (found.iowait_pct, row.util_pct) == (4.25, 9.9)


def test_iostat_with_decimal_commas_gives_no_zero_waits() -> None:
    text = "Device r/s r_await w/s w_await %util\nnvme0n1 1,00 0,30 4,00 22,70 9,90\n"
    assert isinstance(read("iostat", text), Unparsable)
    mixed = facts("iostat", text.replace("9,90", "9.90"))
    assert (mixed.rows[0].write_await_ms, mixed.rows[0].util_pct) == (None, 9.9)


def test_the_last_row_of_iostat_without_its_end_is_odd_and_not_read() -> None:
    text = "Device r/s r_await w/s w_await %util\nnvme0n1 1.00 0.30 4.00 22.70 9.90\nnvme1n1 1.00 0.30 4.00 22.70 98"
    found = facts("iostat", text)
    assert [r.device for r in found.rows] == ["nvme0n1"]
    assert [o.line for o in found.odd] == [3]


def test_arrays_tell_members_failures_and_rebuilds() -> None:
    text = (
        "Personalities : [raid1] [raid6]\n"
        "md0 : active (auto-read-only) raid1 nvme1n1p1[1](F) nvme0n1p1[0]\n"
        "      488254464 blocks super 1.2 [2/1] [U_]\n"
        "      [=>...................]  recovery =  6.3% (1/2) finish=9.9min speed=1K/sec\n"
        "md5 : inactive sdc1[2](S)\n      100 blocks super 1.2\n\nunused devices: <none>\n"
    )
    first, second = facts("mdstat", text).arrays
    assert (first.name, first.active, first.level, first.members) == ("md0", True, "raid1", ("nvme1n1p1", "nvme0n1p1"))
    assert (first.failed, first.state, first.state_line, first.rebuilding) == (("nvme1n1p1",), "U_", 3, True)
    assert (second.active, second.level, second.state, second.rebuilding) == (False, None, None, False)


def test_no_arrays_are_an_answer_and_a_list_that_ends_early_is_doubted() -> None:
    assert isinstance(read("mdstat", "Personalities : [raid1]\nunused devices: <none>\n"), Empty)
    assert facts("mdstat", recorded("mdstat").split("unused")[0]).odd
    assert facts("mdstat", "Personalities : [raid1]\n").odd


def test_a_mount_that_answers_tells_its_room() -> None:
    found = facts("mnt-probe", recorded("mnt-probe"))
    assert (found.fstype, found.block_bytes, found.blocks, found.available) == ("lustre", 4096, 268435456, 120795955)
    assert (found.inodes, found.inodes_free) == (1000000, 912345)
    assert isinstance(read("mnt-probe", "stat: cannot read file system: No such file or directory\n", 1), NotAvailable)


SMART = (
    "Smart Log for NVME device:nvme0 namespace-id:ffffffff\ncritical_warning                    : 0x04\n"
    "temperature                         : 43 C\navailable_spare                     : 8%\n"
    "available_spare_threshold           : 10%\npercentage_used                     : 104%\n"
    "media_errors                        : 1,234\nnum_err_log_entries                 : 12\n"
    "unsafe_shutdowns                    : 60\n"
)


def test_a_health_log_reads_alike_as_text_and_json() -> None:
    text = facts("nvme-smart", SMART)
    json = facts(
        "nvme-smart",
        '{"critical_warning": {"value": 4, "spare": 1}, "temperature": 316, "avail_spare": 8, "spare_thresh": 10,\n'
        '"percent_used": 104, "media_errors": 1234, "num_err_log_entries": 12, "unsafe_shutdowns": 60}\n',
    )
    for found in (text, json):
        assert (found.critical_warning, found.temperature_c, found.spare_pct, found.spare_threshold_pct) == (
            4,
            43,
            8,
            10,
        )
        assert (found.used_pct, found.media_errors, found.error_log_entries) == (104, 1234, 12)
    assert (text.critical_line, text.used_line, text.media_line, json.media_line) == (2, 6, 7, 2)


@pytest.mark.parametrize("value", ["N/A", "", "-", "[Unknown Error]"])
def test_a_warning_that_is_not_told_is_none_and_doubted(value: str) -> None:
    for text in (SMART.replace("0x04", value), '{"critical_warning": null, "percent_used": 4, "avail_spare": 100}\n'):
        found = facts("nvme-smart", text)
        assert found.critical_warning is None
        assert found.odd


def test_a_health_log_that_ends_before_its_errors_is_doubted() -> None:
    found = facts("nvme-smart", SMART.split("media_errors")[0])
    assert found.media_errors is None
    assert [o.text for o in found.odd] == ["no value for media errors"]
    assert isinstance(read("nvme-smart", SMART.split("temperature")[0]), Unparsable)


def test_drives_are_listed_by_every_version() -> None:
    assert [d.device for d in facts("nvme-list", recorded("nvme-list")).drives] == [f"/dev/nvme{n}n1" for n in range(4)]
    first = facts("nvme-list", recorded("nvme-list")).drives[0]
    assert (first.model, first.firmware, first.size_bytes, first.line) == (
        "SAMSUNG MZQL23T8HCLS-00A07",
        "GDC7302Q",
        3840755982336,
        5,
    )
    nested = (
        '{"Devices": [{"HostNQN": "x", "Subsystems": [{"Controllers": [{"Controller": "nvme0", "ModelNumber": "M",\n'
        '"Firmware": "F", "Namespaces": [{"NameSpace": "nvme0n1", "PhysicalSize": 100}]}], "Namespaces": []}]}]}\n'
    )
    (drive,) = facts("nvme-list", nested).drives
    assert (drive.device, drive.model, drive.firmware, drive.size_bytes) == ("/dev/nvme0n1", "M", "F", 100)
    table = (
        "Node             SN              Model           FW Rev  \n"
        "---------------- --------------- --------------- --------\n"
        "/dev/nvme0n1     S1              MODEL A         F1      \n"
    )
    assert [(d.device, d.model, d.firmware) for d in facts("nvme-list", table).drives] == [
        ("/dev/nvme0n1", "MODEL A", "F1")
    ]


def test_a_list_of_drives_that_is_cut_off_is_no_shorter_list() -> None:
    text = recorded("nvme-list")
    for end in (text.index("nvme1n1"), text.index("}") + 1, text.rindex("}")):
        assert isinstance(read("nvme-list", text[:end]), Unparsable)
    assert isinstance(read("nvme-list", '{"Devices": []}\n'), Empty)


def test_strange_lines_within_the_tables_are_odd() -> None:
    assert odd_lines("df-local", recorded("df-local") + "df: closed\nwarning: x\n") == [7]
    assert odd_lines("findmnt", "/dev/sda2 / ext4 rw 0 0\nnot a mount\n") == [2]
