"""What a Lustre client prints: layouts, space, imports, tunables, RPC histograms, LNet, logs."""

from __future__ import annotations

from sample_clusters.make.nic import port_address
from sample_clusters.make.spec import USER, Spec, Writer

DIRECTORY = "/lustre/ckpt"
NEWEST = "/lustre/ckpt/step-0048000.pt"
MOUNT = "/lustre"
OST_KIB = 15_000_000_000 * 10
MDT_KIB = 16_106_127_360
FULL_OST = 17
"""lustre-OST0011: the red herring of the default-stripe story."""
QUOTA = f"        {MOUNT} 48211904312       0 68719476736       -  184201       0 2000000       -\n"
INSTANCE = "ffff8f1c4a2b7000"


def write(spec: Spec, out: Writer, round: int) -> None:
    """Shared targets are asked by the first node only; what each client knows of itself by all."""
    one, nodes = spec.gpu_nodes[0], spec.gpu_set
    out.put(round, nodes, "lctl-llite-stats", llite(round))
    if round > 1:
        return
    out.put(round, one, "lfs-getstripe", directory(spec), DIRECTORY)
    out.put(round, one, "lfs-getstripe-file", newest(spec), NEWEST)
    out.put(round, one, "lfs-df", space(spec), MOUNT)
    out.put(round, one, "lfs-dfi", inodes(spec), MOUNT)
    out.put(round, one, "lfs-quota", QUOTA, USER, MOUNT)
    out.put(round, nodes, "lctl-import", imports(spec))
    out.put(round, nodes, "lctl-osc-tune", tunables(spec))
    out.put(round, nodes, "lctl-rpc-stats", rpcs(spec))
    out.put(round, nodes, "lustre-log", "-- No entries --\n", status=1)
    out.put(round, nodes, "nfs-log", "-- No entries --\n", status=1)
    for i, node in enumerate(spec.gpu_nodes):
        out.put(round, node, "lnet", lnet(spec, i))


def target(index: int) -> str:
    """lustre-OST0011"""
    return f"lustre-OST{index:04x}"


def directory(spec: Spec) -> str:
    """Default layout of the checkpoint directory."""
    return (
        f"lmm_stripe_count:  {spec.stripe_count}\nlmm_stripe_size:   16777216\nlmm_pattern:       raid0\n"
        "lmm_layout_gen:    0\nlmm_stripe_offset: -1\n"
    )


def newest(spec: Spec) -> str:
    """Layout of the newest checkpoint; the narrow one lies on the nearly full OST too."""
    first = FULL_OST - 2 if spec.story == "default-stripe" else 5
    osts = [(first + k) % spec.ost_count for k in range(spec.stripe_count)]
    rows = "".join(
        f"      - l_ost_idx: {o}\n        l_fid:     0x{0x100000000 + o * 0x10000:x}:0x{0x4F2A1 + o:x}:0x0\n"
        for o in osts
    )
    return (
        f"{NEWEST}\nlmm_stripe_count:  {spec.stripe_count}\nlmm_stripe_size:   16777216\nlmm_pattern:       raid0\n"
        f"lmm_layout_gen:    0\nlmm_stripe_offset: {first}\nlmm_objects:\n{rows}"
    )


def _used(spec: Spec, index: int) -> float:
    if spec.story == "default-stripe" and index == FULL_OST:
        return 0.90
    return 0.54 + (index * 7 % 5) / 100


def space(spec: Spec) -> str:
    """`lfs df --lazy`."""
    lines = [f"{'UUID':<22}{'1K-blocks':>16}{'Used':>16}{'Available':>16} Use% Mounted on"]

    def row(name: str, total: int, share: float, place: str) -> None:
        used = int(total * share)
        lines.append(f"{name:<22}{total:>16}{used:>16}{total - used:>16} {share * 100:>3.0f}% {place}")

    for k in range(2):
        row(f"lustre-MDT{k:04x}_UUID", MDT_KIB, 0.07, f"{MOUNT}[MDT:{k}]")
    for i in range(spec.ost_count):
        row(f"{target(i)}_UUID", OST_KIB, _used(spec, i), f"{MOUNT}[OST:{i}]")
    total = OST_KIB * spec.ost_count
    used = sum(int(OST_KIB * _used(spec, i)) for i in range(spec.ost_count))
    share = used / total * 100
    lines += ["", f"{'filesystem_summary:':<22}{total:>16}{used:>16}{total - used:>16} {share:>3.0f}% {MOUNT}", ""]
    return "\n".join(lines) + "\n"


def inodes(spec: Spec) -> str:
    """`lfs df -i --lazy`."""
    lines = [f"{'UUID':<22}{'Inodes':>14}{'IUsed':>14}{'IFree':>14} IUse% Mounted on"]
    mdt, ost = 4_294_967_296, 488_281_250
    for k in range(2):
        used = int(mdt * 0.11)
        lines.append(f"{f'lustre-MDT{k:04x}_UUID':<22}{mdt:>14}{used:>14}{mdt - used:>14} {11:>4}% {MOUNT}[MDT:{k}]")
    for i in range(spec.ost_count):
        used = int(ost * 0.19)
        lines.append(f"{f'{target(i)}_UUID':<22}{ost:>14}{used:>14}{ost - used:>14} {19:>4}% {MOUNT}[OST:{i}]")
    used = int(mdt * 0.22)
    lines += ["", f"{'filesystem_summary:':<22}{2 * mdt:>14}{used:>14}{2 * mdt - used:>14} {11:>4}% {MOUNT}", ""]
    return "\n".join(lines) + "\n"


def imports(spec: Spec) -> str:
    """All targets FULL."""
    osts = [(f"osc.{target(i)}-osc-{INSTANCE}", target(i), f"10.10.0.{11 + i % 8}@o2ib") for i in range(spec.ost_count)]
    mdts = [(f"mdc.lustre-MDT{k:04x}-mdc-{INSTANCE}", f"lustre-MDT{k:04x}", f"10.10.0.{1 + k}@o2ib") for k in range(2)]
    return "".join(
        f"{name}.import=\nimport:\n    name: {name.partition('.')[2]}\n    target: {uuid}_UUID\n    state: FULL\n"
        "    connect_flags: [ write_grant, server_lock, version, request_portal, early_lock_cancel ]\n"
        f"    import_flags: [ replayable, pingable, connect_tried ]\n    connection:\n"
        f'       failover_nids: [ "{nid}" ]\n       current_connection: "{nid}"\n       connection_attempts: 1\n'
        "       generation: 1\n       in-progress_invalidations: 0\n       idle: 3 sec\n    rpcs:\n       inflight: 0\n"
        "       unregistering: 0\n       timeouts: 0\n       avg_waittime: 412 usec\n"
        for name, uuid, nid in (*osts, *mdts)
    )


def tunables(spec: Spec) -> str:
    """Tuned for a fast network."""
    names = [f"osc.{target(i)}-osc-{INSTANCE}" for i in range(spec.ost_count)]
    values = (("max_rpcs_in_flight", 64), ("max_dirty_mb", 2000), ("max_pages_per_rpc", 4096), ("checksums", 1))
    lines = [f"{name}.{key}={value}" for key, value in values for name in names]
    return "\n".join([*lines, f"llite.lustre-{INSTANCE}.max_read_ahead_mb=2048"]) + "\n"


def rpcs(spec: Spec) -> str:
    """Big RPCs, few in flight."""
    parts = []
    for i in range(spec.ost_count):
        busy = i % 4
        parts.append(
            f"osc.{target(i)}-osc-{INSTANCE}.rpc_stats=\n"
            "snapshot_time:         1772591398.112233445 (secs.nsecs)\n"
            "read RPCs in flight:  0\nwrite RPCs in flight: 0\n"
            "pending write pages:  0\npending read pages:   0\n\n"
            "\t\t\tread\t\t\twrite\npages per rpc         rpcs   % cum % |       rpcs   % cum %\n"
            + _bucket("1", 12, 1, 1, 6, 0, 0)
            + _bucket("256", 40, 3, 4, 31, 1, 1)
            + _bucket("4096", 1210, 96, 100, 3022 + busy, 99, 100)
            + "\n\t\t\tread\t\t\twrite\nrpcs in flight        rpcs   % cum % |       rpcs   % cum %\n"
            + _bucket("1", 900, 71, 71, 1211, 39, 39)
            + _bucket("2", 262, 21, 92, 1204, 40, 79)
            + _bucket("8", 100, 8, 100, 644, 21, 100)
            + "\n\t\t\tread\t\t\twrite\noffset                rpcs   % cum % |       rpcs   % cum %\n"
            + _bucket("0", 1262, 100, 100, 3059, 100, 100)
            + "\n"
        )
    return "".join(parts)


def _bucket(name: str, a: int, b: int, c: int, d: int, e: int, f: int) -> str:
    return f"{name + ':':<16}{a:>10}{b:>4}{c:>4}   |{d:>11}{e:>4}{f:>4}\n"


def lnet(spec: Spec, index: int) -> str:
    """o2ib on the storage port."""
    nid = f"{port_address(index, 'eth1')}@o2ib"
    pad = " " * 14
    counts = f"          statistics:\n{pad}send_count: {{0}}\n{pad}recv_count: {{1}}\n{pad}drop_count: 0\n"
    return (
        "net:\n    - net type: lo\n      local NI(s):\n        - nid: 0@lo\n          status: up\n"
        + counts.format(2, 2)
        + "    - net type: o2ib\n      local NI(s):\n"
        f"        - nid: {nid}\n          status: up\n          interfaces:\n              0: eth1\n"
        + counts.format(88_120_441 + index * 311, 88_119_870 + index * 307)
        + f"          health stats:\n{pad}health value: 1000\n{pad}dropped: 0\n{pad}timeouts: 0\n"
        "          tunables:\n              peer_timeout: 180\n              peer_credits: 32\n"
        "              peer_buffer_credits: 0\n              credits: 256\n          dev cpt: 0\n"
        '          CPT: "[0,1]"\n'
    )


def llite(round: int) -> str:
    """Operation counts since mount: big reads and writes, few opens."""
    opens = 184_220 + 40 * round
    return (
        f"llite.lustre-{INSTANCE}.stats=\n"
        f"snapshot_time             {1772591400 + 60 * (round - 1)}.101010101 secs.nsecs\n"
        f"read_bytes                {92_118_220 + 9000 * round} samples [bytes] 4096 16777216 "
        f"{386_210_441_216_000 + 37_748_736_000 * round}\n"
        f"write_bytes               {2_110_882 + 10 * round} samples [bytes] 4096 16777216 "
        f"{35_415_000_111_104 + 167_772_160 * round}\n"
        f"open                      {opens} samples [usecs] 88 21441 {opens * 420} {opens * 510000}\n"
        f"close                     {opens} samples [usecs] 12 9981 {opens * 61} {opens * 80000}\n"
        f"getattr                   {opens * 3} samples [usecs] 2 8841 {opens * 44} {opens * 61000}\n"
    )
