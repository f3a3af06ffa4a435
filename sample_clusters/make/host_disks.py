"""The disks, mounts and PCIe links of a sample host."""

from __future__ import annotations

import json

from sample_clusters.make.spec import Spec

MGS = "10.10.0.1@o2ib:10.10.0.2@o2ib"
DRIVES = 4


def kib(spec: Spec) -> int:
    """Memory as the kernel counts it."""
    return int(spec.memory_gib * 1024 * 1024 * 0.983)


# ---- PCIe

GPU_BUSES = {
    "A800": ("07", "0a", "47", "4d", "87", "8d", "c7", "ca"),
    "H100": ("0f", "2d", "44", "5b", "89", "a8", "c0", "d3"),
}


def links(spec: Spec) -> str:
    """Speed and width of the GPUs' links."""
    speed = "16.0 GT/s PCIe" if spec.gpu == "A800" else "32.0 GT/s PCIe"
    files = (
        ("current_link_speed", speed),
        ("current_link_width", "16"),
        ("max_link_speed", speed),
        ("max_link_width", "16"),
    )
    folder = "/sys/bus/pci/devices"
    return "".join(f"{folder}/0000:{bus}:00.0/{name}:{value}\n" for name, value in files for bus in GPU_BUSES[spec.gpu])


def aer(spec: Spec) -> str:
    """PCIe error counters, all 0."""
    names = {
        "correctable": ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout", "NonFatalErr", "TOTAL_ERR_COR"),
        "nonfatal": ("Undefined", "DLP", "CmpltTO", "TOTAL_ERR_NONFATAL"),
        "fatal": ("Undefined", "DLP", "CmpltTO", "TOTAL_ERR_FATAL"),
    }
    folder = "/sys/bus/pci/devices"
    return "".join(
        f"{folder}/0000:{bus}:00.0/aer_dev_{kind}:{name} 0\n"
        for kind, each in names.items()
        for bus in GPU_BUSES[spec.gpu]
        for name in each
    )


# ---- disks and mounts


def df(*rows: tuple[str, int, int, str]) -> str:
    """`df -P -k -l` of (source, KiB, used in percent, mount)."""
    text = "Filesystem      1024-blocks       Used  Available Capacity Mounted on\n"
    for source, size, used_pct, mount in (("tmpfs", 105_618_432, 1, "/run"), *rows):
        used = size * used_pct // 100
        text += f"{source:<15} {size:11d} {used:10d} {size - used:10d} {used_pct:7d}% {mount}\n"
    return text


def df_inodes() -> str:
    """`df -P -i -l`."""
    return (
        "Filesystem        Inodes   IUsed     IFree IUse% Mounted on\n"
        "tmpfs          132023040    2114 132020926    1% /run\n"
        "/dev/nvme0n1p2  59531264  812443  58718821    2% /\n"
        "/dev/nvme0n1p1         0       0         0     - /boot/efi\n"
        "/dev/nvme1n1   375095296  104221 374991075    1% /local\n"
    )


def shm(spec: Spec) -> str:
    """`df -P -k /dev/shm`."""
    size = kib(spec) // 2
    return (
        "Filesystem     1024-blocks     Used  Available Capacity Mounted on\n"
        f"tmpfs          {size:11d} {9_812_344:8d} {size - 9_812_344:10d}       1% /dev/shm\n"
    )


def findmnt() -> str:
    """`findmnt -J`."""

    def mount(target: str, source: str, fstype: str, options: str) -> dict[str, str]:
        return {"target": target, "source": source, "fstype": fstype, "options": options}

    lustre = "rw,relatime,checksum,flock,nouser_xattr,lruresize,lazystatfs,noencrypt"
    root: dict[str, object] = dict(mount("/", "/dev/nvme0n1p2", "ext4", "rw,relatime,errors=remount-ro"))
    root["children"] = [
        mount("/proc", "proc", "proc", "rw,nosuid,nodev,noexec,relatime"),
        mount("/sys", "sysfs", "sysfs", "rw,nosuid,nodev,noexec,relatime"),
        mount("/dev/shm", "tmpfs", "tmpfs", "rw,nosuid,nodev,inode64"),
        mount("/boot/efi", "/dev/nvme0n1p1", "vfat", "rw,relatime,fmask=0077,dmask=0077"),
        mount("/local", "/dev/nvme1n1", "xfs", "rw,noatime,attr2,inode64,noquota"),
        mount("/lustre", f"{MGS}:/lustre", "lustre", lustre),
    ]
    return json.dumps({"filesystems": [root]}, indent=3) + "\n"


def stat_f(spec: Spec) -> str:
    """`stat -f /lustre`."""
    blocks = spec.ost_count * 7_812_500_000 // 1024 * 256 // 1024
    return (
        '  File: "/lustre"\n    ID: 2c54f96600000000 Namelen: 255     Type: lustre\n'
        "Block size: 4096       Fundamental block size: 4096\n"
        f"Blocks: Total: {blocks} Free: {blocks * 6 // 10} Available: {blocks * 55 // 100}\n"
        f"Inodes: Total: {spec.ost_count * 12_000_000} Free: {spec.ost_count * 9_100_000}\n"
    )


def smart(drive: int) -> str:
    """Health log of one drive."""
    return (
        json.dumps(
            {
                "critical_warning": 0,
                "temperature": 309 + drive,
                "avail_spare": 100,
                "spare_thresh": 10,
                "percent_used": 4 + drive,
                "data_units_read": 412_774_311 + drive,
                "data_units_written": 388_120_455 + drive,
                "power_cycles": 21,
                "power_on_hours": 9822,
                "unsafe_shutdowns": 3,
                "media_errors": 0,
                "num_err_log_entries": 0,
            },
            indent=2,
        )
        + "\n"
    )


def nvme_list() -> str:
    """`nvme list`."""
    rows = [
        {
            "NameSpace": 1,
            "DevicePath": f"/dev/nvme{k}n1",
            "Firmware": "GDC7302Q",
            "Index": k,
            "ModelNumber": "SAMSUNG MZQL23T8HCLS-00A07",
            "SerialNumber": f"S64HNG0T9{k:05d}",
            "PhysicalSize": 3_840_755_982_336,
            "SectorSize": 512,
        }
        for k in range(DRIVES)
    ]
    return json.dumps({"Devices": rows}, indent=2) + "\n"


def iostat() -> str:
    """Three samples of `iostat`."""

    def disk(device: str, sample: int) -> dict[str, object]:
        return {
            "disk_device": device,
            "r/s": 12.5 + sample,
            "rkB/s": 1480.0,
            "r_await": 0.14,
            "w/s": 38.0 + sample,
            "wkB/s": 2212.0,
            "w_await": 0.21,
            "aqu-sz": 0.02,
            "util": 1.4,
        }

    samples = [{"disk": [disk(f"nvme{k}n1", s) for k in range(DRIVES)]} for s in range(3)]
    host = {
        "nodename": "gpu",
        "sysname": "Linux",
        "release": "5.15.0-113-generic",
        "machine": "x86_64",
        "statistics": samples,
    }
    return json.dumps({"sysstat": {"hosts": [host]}}, indent=1) + "\n"
