"""What the storage tools print, in every form their parsers must read; composed for the tests."""

from __future__ import annotations

from sample_clusters.make import storage
from sample_clusters.make.clusters import SPECS

SPEC = SPECS["lustre-default-stripe"]

PFL = """/lustre/proj/pfl.bin:
  lcm_layout_gen:    3
  lcm_mirror_count:  1
  lcm_entry_count:   3
  component0:
    lcme_id:             1
    lcme_mirror_id:      0
    lcme_flags:          init
    lcme_extent.e_start: 0
    lcme_extent.e_end:   67108864
    sub_layout:
      lmm_stripe_count:  1
      lmm_stripe_size:   1048576
      lmm_pattern:       raid0
      lmm_layout_gen:    0
      lmm_stripe_offset: 3
      lmm_objects:
      - 0: { l_ost_idx: 3, l_fid: [0x100030000:0x9:0x0] }
  component1:
    lcme_id:             2
    lcme_mirror_id:      0
    lcme_flags:          0
    lcme_extent.e_start: 67108864
    lcme_extent.e_end:   17179869184
    sub_layout:
      lmm_stripe_count:  4
      lmm_stripe_size:   4194304
      lmm_stripe_offset: -1
  component2:
    lcme_id:             3
    lcme_mirror_id:      0
    lcme_flags:          0
    lcme_extent.e_start: 17179869184
    lcme_extent.e_end:   EOF
    sub_layout:
      lmm_stripe_count:  -1
      lmm_stripe_size:   16777216
      lmm_stripe_offset: -1
"""

MIRRORS = """/lustre/proj/twice.bin
  lcm_layout_gen:    2
  lcm_mirror_count:  2
  lcm_entry_count:   2
    lcme_id:             65537
    lcme_mirror_id:      1
    lcme_flags:          init
    lcme_extent.e_start: 0
    lcme_extent.e_end:   EOF
      lmm_stripe_count:  2
      lmm_stripe_size:   4194304
      lmm_pattern:       raid0
      lmm_stripe_offset: 8
      lmm_pool:          flash
      lmm_objects:
      - 0: { l_ost_idx: 8, l_fid: [0x100080000:0x2:0x0] }
      - 1: { l_ost_idx: 9, l_fid: [0x100090000:0x2:0x0] }

    lcme_id:             131074
    lcme_mirror_id:      2
    lcme_flags:          init
    lcme_extent.e_start: 0
    lcme_extent.e_end:   EOF
      lmm_stripe_count:  12
      lmm_stripe_size:   1048576
      lmm_pattern:       raid0
      lmm_stripe_offset: 0
      lmm_pool:          disk
"""

DIRECTORIES = """/lustre/proj
stripe_count:  1 stripe_size:   1048576 pattern:       0 stripe_offset: -1
/lustre/proj/wide
stripe_count:  -1 stripe_size:   16777216 pattern:       raid0 stripe_offset: -1 pool:          flash
"""

TABLE = """/lustre/proj/old.bin
lmm_stripe_count:   2
lmm_stripe_size:    1048576
lmm_pattern:        1
lmm_layout_gen:     0
lmm_stripe_offset:  21
\tobdidx\t\t objid\t\t objid\t\t group
\t    21\t       8812544\t     0x867800\t             0
\t    22\t       8812301\t     0x86770d\t             0

"""

DF_H = """UUID                       bytes        Used   Available Use% Mounted on
fs-MDT0000_UUID             2.7T      143.6G        2.5T   6% /lustre[MDT:0]
fs-OST0000_UUID            87.3T       51.2T       36.0T  59% /lustre[OST:0] D
fs-OST0001_UUID            87.3T       87.3T        1.2G 100% /lustre[OST:1] SI
fs-OST0002_UUID            87.3T       50.9T       36.3T  59% /lustre[OST:2]
OST0003             : inactive device
fs-OST000a_UUID     : Resource temporarily unavailable

filesystem_summary:       261.8T      189.4T       72.3T  73% /lustre

"""

BRW = """obdfilter.fs-OST0004.brw_stats=
snapshot_time:         1772591402.118 (secs.usecs)

                           read      |     write
pages per bulk r/w     rpcs  % cum % |  rpcs        % cum %
1:                       9   9   9   |    3   0   0
1K:                     91  91 100   | 4200  99 100

                           read      |     write
I/O time (1/1000s)     ios   % cum % |  ios         % cum %
4:                      60  60  60   | 3900  92  92
512:                     0   0  60   |  100   2  94
1K:                     40  40 100   |  203   6 100

                           read      |     write
disk I/O size          ios   % cum % |  ios         % cum %
4K:                    100 100 100   | 4203 100 100
"""

JOBS = """obdfilter.fs-OST0004.job_stats=
job_stats:
- job_id:          88123
  snapshot_time:   1772591402
  read_bytes:      { samples:         12, unit: bytes, min: 4096, max: 1048576, sum:        9437184 }
  write_bytes:     { samples:        400, unit: bytes, min: 4096, max: 4194304, sum:     1677721600 }
  punch:           { samples:          0, unit:  reqs }
- job_id:          "rsync.0"
  snapshot_time:   1772591402
  read_bytes:      { samples:       9000, unit: bytes, min: 4096, max: 1048576, sum:     9437184000 }
  write_bytes:     { samples:          0, unit: bytes, min:    0, max:       0, sum:              0 }
"""

NFS = """device rootfs mounted on / with fstype rootfs
device /dev/nvme0n1p2 mounted on / with fstype ext4
device 10.20.0.5:/export/data mounted on /data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576,hard,proto=tcp,nconnect=8,timeo=600,retrans=2,addr=10.20.0.5
\tage:\t90210
\tcaps:\tcaps=0xfffbc0bf,wtmult=512,dtsize=1048576
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 52000 52013 2 10400000 54525952000 1200 260000 265000 0
\t       WRITE: 8000 8004 0 33554432000 1152000 120 88000 96000 0
"""

WAITERS = """mmdiag:waiters:HEADER:version:reserved:reserved:threadId:threadAddr:threadName:waitStartTime:wait\
Time:isMonitored:condVarAddr:condVarName:condVarReason:mutexAddr:mutexName:auxReason:delayTime:delayReason:
mmdiag:waiters:0:1:::20118:00007F11:NSDThread:2026-03-04_02%3A29%3A11-0000:61.2500:monitored:::for I/O complet\
ion::::::
mmdiag:waiters:0:1:::20119:00007F12:RPCThread:2026-03-04_02%3A30%3A01-0000:0.8:monitored:::waiting for reply%3\
A node2::::::
"""

LOG = """2026-03-04T01:12:09+0000 gpu003 kernel: Lustre: fs-OST0003-osc-ffff9c01: Connection to fs-OST0003 (at\
 10.10.0.14@o2ib) was lost; in progress operations using this service will wait for recovery to complete
2026-03-04T01:13:50+0000 gpu003 kernel: LustreError: 167-0: fs-OST0003-osc-ffff9c01: This client was evicted b\
y fs-OST0003; in progress operations using this service will fail.
2026-03-04T01:13:51+0000 gpu003 kernel: Lustre: fs-OST0003-osc-ffff9c01: Connection restored to 10.10.0.14@o2i\
b (at 10.10.0.14@o2ib)
2026-03-04T01:15:00+0000 gpu003 kernel: LustreError: 11-0: fs-MDT0000-mdc-ffff9c01: operation mds_reint to nod\
e 10.10.0.1@o2ib failed: rc = -28
"""

NFS_LOG = """2026-03-04T02:01:00+0000 gpu001 kernel: nfs: server 10.20.0.5 not responding, still trying
2026-03-04T02:04:10+0000 gpu001 kernel: nfs: server 10.20.0.5 OK
2026-03-04T02:09:00+0000 gpu001 kernel: nfs: server filer2 not responding, timed out
"""

LNET_STATS = """statistics:
    msgs_alloc: 3
    msgs_max: 412
    rst_alloc: 0
    resend_count: 9
    response_timeout_count: 2
    send_count: 881204
    drop_count: 4
"""

HEALTH = """health_check=healthy
obdfilter.fs-OST0000.recovery_status=
status: COMPLETE
completed_clients: 8/8
mdt.fs-MDT0000.recovery_status=
status: RECOVERING
connected_clients: 3/8
"""

QUOTA = "        /lustre 1843200* 1048576 2097152   6d2h    1200       0       0       -\n"

SAMPLES: dict[str, str] = {
    "lfs-getstripe": storage.directory(SPEC),
    "lfs-getstripe-file": storage.newest(SPEC),
    "lfs-df": storage.space(SPEC),
    "lfs-dfi": storage.inodes(SPEC),
    "lfs-quota": QUOTA,
    "lctl-import": storage.imports(SPEC),
    "lctl-osc-tune": storage.tunables(SPEC),
    "lctl-rpc-stats": storage.rpcs(SPEC),
    "lctl-llite-stats": storage.llite(1),
    "lnet": storage.lnet(SPEC, 0),
    "lnet-stats": LNET_STATS,
    "lustre-log": LOG,
    "nfs-mountstats": NFS,
    "nfs-log": NFS_LOG,
    "gpfs-waiters": WAITERS,
    "oss-brw": BRW,
    "oss-jobstats": JOBS,
    "srv-health": HEALTH,
}
