"""Outputs as bundles hold them, composed for tests."""

from __future__ import annotations

GIB = 81559


def report(gpus: int = 2, *, pending: int | None = None, width: int = 16) -> str:
    """`nvidia-smi -q`; `pending` is a GPU with a row remapping that waits for a reset."""
    head = "\n==============NVSMI LOG==============\n\n" + _pairs(
        0, ("Timestamp", "Wed Mar  4 10:10:00 2026"), ("Driver Version", "535.183.01"), ("CUDA Version", "12.2")
    )
    head += "\n" + _pairs(0, ("Attached GPUs", str(gpus)))
    return head + "".join(_gpu(n, "Yes" if n == pending else "No", width if n == 0 else 16) for n in range(gpus))


def _gpu(n: int, pending: str, width: int) -> str:
    lines = [f"GPU 00000000:{0x10 + n:02X}:00.0\n"]
    lines.append(
        _pairs(
            4,
            ("Product Name", "NVIDIA A800-SXM4-80GB"),
            ("Persistence Mode", "Enabled"),
            ("Serial Number", f"15640221000{n:02d}"),
            ("GPU UUID", f"GPU-0b1f6c1e-6a47-4ed5-9b0c-3d4a5c6e7f{n:02x}"),
            ("VBIOS Version", "92.00.9E.00.01"),
            ("Performance State", "P0"),
        )
    )
    lines.append(_block(4, "MIG Mode", ("Current", "Disabled"), ("Pending", "Disabled")))
    lines.append(_block(4, "Inforom Version", ("Image Version", "G506.0212.00.02")))
    lines.append("    PCI\n        GPU Link Info\n")
    lines.append(_block(12, "PCIe Generation", ("Max", "4"), ("Current", "4")))
    lines.append(_block(12, "Link Width", ("Max", "16x"), ("Current", f"{width}x")))
    lines.append(_block(4, "FB Memory Usage", ("Total", f"{GIB} MiB"), ("Used", "70000 MiB")))
    lines.append(_pairs(4, ("Compute Mode", "Default")))
    lines.append(_block(4, "Utilization", ("Gpu", "98 %"), ("Memory", "40 %")))
    lines.append(_block(4, "ECC Mode", ("Current", "Enabled"), ("Pending", "Enabled")))
    counts = (("SRAM Correctable", "0"), ("SRAM Uncorrectable", "0"))
    dram = (("DRAM Correctable", "0"), ("DRAM Uncorrectable", "1" if pending == "Yes" else "0"))
    lines.append("    ECC Errors\n" + _block(8, "Volatile", *counts, *dram) + _block(8, "Aggregate", *counts, *dram))
    remapped = "1" if pending == "Yes" else "0"
    lines.append(
        _block(
            4,
            "Remapped Rows",
            ("Correctable Error", "0"),
            ("Uncorrectable Error", remapped),
            ("Pending", pending),
            ("Remapping Failure Occurred", "No"),
        )
    )
    lines.append(_block(4, "Temperature", ("GPU Current Temp", "55 C"), ("Memory Current Temp", "60 C")))
    lines.append(_block(4, "GPU Power Readings", ("Power Draw", "350.00 W"), ("Current Power Limit", "400.00 W"),
                        ("Max Power Limit", "400.00 W")))  # fmt: skip
    lines.append(_block(4, "Clocks", ("SM", "1410 MHz"), ("Memory", "1593 MHz")))
    lines.append(_block(4, "Max Clocks", ("SM", "1410 MHz"), ("Memory", "1593 MHz")))
    lines.append("    Processes\n" + _pairs(8, ("GPU instance ID", "N/A"), ("Process ID", str(4000 + n))))
    return "".join(lines)


def _pairs(indent: int, *rows: tuple[str, str]) -> str:
    return "".join(f"{' ' * indent + name:<50}: {value}\n" for name, value in rows)


def _block(indent: int, name: str, *rows: tuple[str, str]) -> str:
    return f"{' ' * indent}{name}\n" + _pairs(indent + 4, *rows)


XID = "NVRM: Xid (PCI:0000:10:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
LSPCI = (
    "10:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A800 SXM4 80GB] [10de:20f3] (rev a1)\n"
    "\tSubsystem: NVIDIA Corporation Device [10de:1799]\n"
    "11:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A800 SXM4 80GB] [10de:20f3] (rev a1)\n"
    "17:00.0 Ethernet controller [0200]: Mellanox Technologies MT2892 Family [ConnectX-6 Dx] [15b3:101d]\n"
)
TIMEDATECTL = (
    "               Local time: Wed 2026-03-04 10:10:00 CST\n"
    "           Universal time: Wed 2026-03-04 02:10:00 UTC\n"
    "                 RTC time: Wed 2026-03-04 02:10:00\n"
    "                Time zone: Asia/Shanghai (CST, +0800)\n"
    "System clock synchronized: yes\n"
    "              NTP service: active\n"
)
BOOT_ID = "5f1b4a3e-0c9a-4a57-8d5e-0d6f0b0e2a11\n"


def journal(host: str, *lines: str, first: str = "Mar 01 00:00:01") -> str:
    """A journal in the short form that reaches back three days, in the zone of TIMEDATECTL."""
    rows = [f"{first} {host} kernel: Linux version 5.15.0-91-generic (build@host) #101", *lines]
    return "".join(f"{row}\n" for row in rows)


def sosreport(host: str, *, root: str | None = None, **changes: str | bytes | None) -> dict[str, str | bytes]:
    """The files of a small sosreport; changes by path with `/` written `__` take files away (None) or replace them."""
    root = f"sosreport-{host}-2026-03-04-abcdefg" if root is None else root
    files: dict[str, str | bytes | None] = {
        "version.txt": "sosreport: 4.5.6\n",
        "sos_commands/host/hostname": f"{host}.cluster.example\n",
        "sos_commands/date/date": "Wed Mar  4 10:10:00 CST 2026\n",
        "sos_commands/systemd/timedatectl": TIMEDATECTL,
        "sos_commands/nvidia/nvidia-smi_-q": report(),
        "sos_commands/pci/lspci_-nnvv": LSPCI,
        "sos_commands/networking/ethtool_-S_eth2": "NIC statistics:\n     rx_discards_phy: 0\n     tx_packets: 5\n",
        "sos_commands/networking/ethtool_-i_eth2": "driver: mlx5_core\nversion: 5.15.0\nfirmware-version: 22.35.2000\n",
        "sos_commands/kernel/sysctl_-a": "kernel.ostype = Linux\nnet.ipv4.conf.all.arp_ignore = 1\n",
        "sos_commands/logs/journalctl_--no-pager": journal(host),
        "sos_commands/filesys/df_-al_-x_autofs": "Filesystem     1K-blocks     Used Available Use% Mounted on\n"
        "/dev/sda1      459850824 10123456 335184313   4% /\n",
        "sos_commands/crypto/fips-mode-setup_--check": "FIPS mode is disabled.\n",
        "proc/meminfo": "MemTotal:       1056476164 kB\nMemFree:        900000000 kB\nMemAvailable:   950000000 kB\n",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz-5.15.0 root=/dev/sda1 ro iommu=pt\n",
        "proc/sys/kernel/random/boot_id": BOOT_ID,
        "proc/uptime": "266400.10 1000.00\n",
        "proc/4000/limits": "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 4096                 files     \n",
        "proc/4711/limits": "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max open files            1024                 4096                 files     \n",
        "sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
        "sys/devices/system/cpu/cpufreq/policy1/scaling_governor": "powersave\n",
        "etc/shadow-like": "root:x:0:0\n",
    }
    files |= {path.replace("__", "/"): text for path, text in changes.items()}
    return {f"{root}/{path}".lstrip("/"): text for path, text in files.items() if text is not None}


LINE = "_" * 44 + "\n"


def bug_report(
    host: str, *, gpus: str | None = None, dmesg: str = "", date: str = "Wed Mar  4 10:10:00 CST 2026"
) -> str:
    """A bug report of the driver."""
    return (
        f"{LINE}\nStart of NVIDIA bug report log file.  Please include this file, along\n"
        f"with a description, when reporting.\n\nnvidia-bug-report.sh Version: 37062940\n\nDate: {date}\n"
        f"uname: Linux {host} 5.15.0-91-generic #101-Ubuntu SMP x86_64 GNU/Linux\ncommand line flags: \n\n"
        f"{LINE}\n*** /etc/issue\n*** ls: -rw-r--r-- 1 root root 26 2024-01-02 03:04:05.000000000 +0800 /etc/issue\n"
        f"Ubuntu 22.04.3 LTS \\n \\l\n\n\n{LINE}\n*** /proc/driver/nvidia/agp does not exist\n\n"
        f"{LINE}\n/usr/bin/lspci -nn\n\n{LSPCI}\n{LINE}\ndmesg:\n\n{dmesg}"
        f"{LINE}\n*** /proc/meminfo\n"
        "*** ls: -r--r--r-- 1 root root 0 2026-03-04 10:10:01.123456789 +0800 /proc/meminfo\n"
        "MemTotal:       1056476164 kB\nMemFree:        900000000 kB\n\n"
        f"{LINE}\n*** /proc/driver/nvidia/version\n"
        "*** ls: -r--r--r-- 1 root root 0 2026-03-04 10:10:01.200000000 +0800 /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
        "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n\n"
        f"{LINE}\n/usr/bin/nvidia-smi --query\n\n{report() if gpus is None else gpus}\n"
        "/usr/bin/nvidia-smi nvlink --status\n\n"
        "GPU 0: NVIDIA A800-SXM4-80GB (UUID: GPU-0b1f6c1e-6a47-4ed5-9b0c-3d4a5c6e7f00)\n"
        "\t Link 0: 25 GB/s\n\t Link 1: 25 GB/s\n\n"
        f"{LINE}\nSkipping: vulkaninfo output\nvulkaninfo not found\n\n"
    )
