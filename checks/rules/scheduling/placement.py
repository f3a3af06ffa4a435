"""Do jobs cross more leaves than they must."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import ceil

from checks.findings import Certainty, Status
from checks.judgement import Judgement, ok
from checks.rules import Read, rule
from checks.rules.scheduling import common
from checks.tools.slurm_config import Topology
from checks.tools.slurm_job_tables import SlurmJob, SlurmJobs
from checks.view import View, observed


@rule(
    "scheduling.placement",
    title="Do jobs cross more leaves than they must?",
    why="A job that fits under one leaf and is spread over four sends its gradients over the spines, in competition "
    "with every other job.",
    scope="cluster",
    reads=("squeue-run", Read("stopo", optional=True), Read("lldp", optional=True)),
    faults=("sc-topology-unaware",),
    applies=common.no_slurm,
)
def placement(view: View) -> Iterator[Judgement]:
    """Leaves of every running job against the fewest that could hold it."""
    head = common.heads(view)[0]
    running = view.newest("squeue-run", head, SlurmJobs)
    if running.facts is None:
        yield ok("no job runs", head) if running.empty else running.unknown()
        return
    jobs = [j for j in running.facts.jobs if j.state in ("RUNNING", None) and len(j.node_list) > 1 and not j.step]
    unread = [j for j in running.facts.jobs if j.state == "RUNNING" and not j.node_list]
    if unread:
        yield running.unknown("the nodes of some jobs are not known")
    every = dict.fromkeys(n for j in jobs for n in j.node_list)
    leaf_of = common.leaves(view, every)
    topology = view.newest("stopo", head, Topology)
    if jobs and not leaf_of:
        yield topology.unknown("which leaf a node hangs on is not known")
        return
    size = max(Counter(leaf_of.values()).values(), default=1)
    good = 0
    for job in jobs:
        leaves = {leaf_of.get(n) for n in job.node_list}
        fewest = ceil(len(job.node_list) / size)
        if None in leaves:
            yield topology.unknown("which leaf a node hangs on is not known")
        elif len(leaves) > fewest:
            yield _spread(view, head, job, len(leaves), fewest, bool(topology.empty))
        else:
            good += 1
    if good or not jobs:
        yield ok(
            "jobs use as few leaves as can hold them" if jobs else "no job on more than one node",
            head,
            observed=(observed("jobs on several nodes", good, "", head),),
            evidence=(running.quote(running.facts.jobs[0].line),) if running.facts.jobs else (),
        )


def _spread(view: View, head: str, job: SlurmJob, leaves: int, fewest: int, unconfigured: bool) -> Judgement:
    running = view.newest("squeue-run", head, SlurmJobs)
    # with a topology known to Slurm the job may have been placed in what was free
    certainty: Certainty = "supported" if unconfigured else "hypothesis"
    return Judgement(
        Status.WARN,
        "a job is spread over more leaves than it needs"
        + ("; Slurm has no topology configured" if unconfigured else ""),
        nodes=job.node_list,
        entities=(f"job {job.id}",),
        observed=(observed("leaves used", leaves, "", head), observed("leaves needed", fewest, "", head)),
        evidence=(running.quote(job.line),),
        faults=("sc-topology-unaware",),
        certainty=certainty,
    )
