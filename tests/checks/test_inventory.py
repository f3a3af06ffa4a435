"""The cluster file: what it may call a node, a user, a jump host."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from checks.inventory import Cluster, ClusterFile

HOSTILE = (
    "-oProxyCommand=id",
    "../../etc",
    "gpu1/x",
    "a b",
    "a;id",
    "a$(id)",
    "a`id`",
    "a\nb",
    "..",
    "-x[1-2]",
    "gpü1",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_node_is_never_called_an_option_a_path_or_a_command(name: str) -> None:
    with pytest.raises(ValidationError, match="not a host name"):
        ClusterFile.model_validate({"name": "t", "roles": {"gpu-node": {"nodes": f"gpu2,{name}"}}})


@pytest.mark.parametrize("name", ["-oProxyCommand=id", "a;id", "a$(id)", "a b", "a%h", "root@-x"])
def test_neither_is_a_jump_host_or_a_user(name: str) -> None:
    with pytest.raises(ValidationError, match="not a jump host"):
        ClusterFile.model_validate({"name": "t", "access": {"jump": [name]}})
    with pytest.raises(ValidationError, match="not a user name"):
        ClusterFile.model_validate({"name": "t", "access": {"user": name.replace("root@", "")}})


def test_names_as_sites_have_them_are_taken() -> None:
    spec = {
        "name": "t",
        "roles": {"gpu-node": "gpu[001-003],rack1-u2.example.org,node_7,10.1.2.3", "endpoint": "fe80::1"},
        "access": {"user": "EXAMPLE\\on.call-1", "jump": ["bastion", "ops@b2.example.org:2222", "[fe80::2]:22"]},
    }
    assert len(Cluster(ClusterFile.model_validate(spec)).nodes()) == 7
