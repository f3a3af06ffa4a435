"""The catalogue is closed, validated and read-only."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks import catalogue, params
from checks.catalogue import RefusedCommandError
from checks.params import ParameterError

HOSTILE = [
    "",
    "-rf",
    "--reset",
    "eth0; reboot",
    "$(reboot)",
    "`id`",
    "a b",
    "a\nb",
    "a\x00b",
    "eth0|cat",
    "../../etc/shadow",
    "/lustre/../etc",
    "eth0'",
    'eth0"',
    "еth0",  # Cyrillic look-alike
    "eth0\u202e",
    "a" * 5000,
]


def test_every_parameter_type_refuses_hostile_values() -> None:
    for kind in params.TYPES:
        for value in HOSTILE:
            with pytest.raises(ParameterError):
                params.check(kind, value)


@given(st.text(max_size=40))
def test_an_accepted_value_never_needs_more_than_quoting(value: str) -> None:
    for kind in params.TYPES:
        try:
            params.check(kind, value)
        except ParameterError:
            continue
        assert not re.search(r"[\s;&|<>$`\\'\"(){}!#\x00-\x1f]", value)
        assert not value.startswith("-")


def test_entries_that_load_or_disrupt_are_shown_and_never_rendered() -> None:
    shown = [c for c in catalogue.table().values() if not c.runnable]
    assert {"dcgm-diag2", "dcgm-diag3", "ib-write-bw", "nccl-tests", "nvbandwidth", "ib-diagnet"} <= {
        c.id for c in shown
    }
    for command in shown:
        with pytest.raises(RefusedCommandError):
            command.render(tuple("1" for _ in command.params))


WRITES = re.compile(
    r"nvidia-smi\s.*(-r\b|-pl\b|-pm\b|-lgc|--gpu-reset)|ethtool\s+-[sGAK]\b|--set-"
    r"|mlxconfig\s.*(set|reset)|perfquery.*-[rR]\b|ibqueryerrors.*-[kK]\b|--pc\b|set_param|conf_param|setstripe"
    r"|migrate|scontrol\s+(update|reboot)|sonic-clear|\bnv set"
    r"|dcgmi config|kubectl\s+(delete|apply|drain|cordon|exec)|>|\brm\b|reboot"
)


def test_no_runnable_command_has_a_form_that_writes() -> None:
    for command in catalogue.table().values():
        if command.runnable:
            assert not WRITES.search(command.command), command.id


def test_every_parameter_of_a_command_text_has_a_type_and_the_order_of_the_text() -> None:
    for command in catalogue.table().values():
        assert list(dict.fromkeys(re.findall(r"\{([\w-]+)\}", command.command))) == list(command.params)
        assert set(command.params.values()) <= set(params.TYPES)


def test_ids_are_unique_and_lower_case_apart_from_slurm_flags() -> None:
    ids = list(catalogue.table())
    assert len(ids) == len(set(ids)) == 213
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-zA-Z0-9]+)*", i) for i in ids)


def test_rendering_quotes_and_counts_parameters() -> None:
    assert catalogue.get("eth-stats").render(("eth2",)) == "ethtool -S eth2"
    assert catalogue.get("sw-qos-json").render(("QUEUE*",)) == "sonic-db-dump -n CONFIG_DB -k 'QUEUE*' -y"
    with pytest.raises(ParameterError):
        catalogue.get("eth-stats").render(())


def test_file_names_encode_parameters_as_the_contract_says() -> None:
    assert catalogue.get("lfs-getstripe").stem(("/lustre/ckpt",)) == "lfs-getstripe@%2Flustre%2Fckpt"
    assert catalogue.get("ib-perfquery").stem(("12", "3")) == "ib-perfquery@12@3"
    long = "/lustre/" + "d" * 400
    stem = catalogue.get("lfs-getstripe").stem((long,))
    assert re.fullmatch(r"lfs-getstripe@.{160}\+[0-9a-f]{8}", stem)
    assert catalogue.get("lfs-getstripe").stem((long + "e",)) != stem
