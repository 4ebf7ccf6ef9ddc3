"""What can be ordered."""

from dataclasses import replace

from metal_api.catalogue import data


def test_a_plan_may_have_more_drives_than_the_alphabet_has_letters() -> None:
    """Names were those of 26 SSD and HDD and of 99 NVMe drives; the next one was a RuntimeError at each order and in metadata."""
    plan = data.catalogue().plans["c3.small.x86"]
    many = ({"count": 703, "size_gb": 480, "type": "HDD"}, {"count": 101, "size_gb": 960, "type": "NVME"})
    names = [each.name for each in replace(plan, drives=many).machine_drives]
    assert [names[number] for number in (25, 26, 27, 701, 702, 703, 803)] == [
        *("/dev/sdz", "/dev/sdaa", "/dev/sdab", "/dev/sdzz", "/dev/sdaaa"),
        *("/dev/nvme0n1", "/dev/nvme100n1"),
    ]


def test_everything_is_found_by_each_of_its_names() -> None:
    found = data.catalogue()
    metro, plan, system = found.metros["da"], found.plans["c3.small.x86"], found.operating_systems["windows_2022"]
    assert found.metro("DA") is found.metro(metro.id) is found.metro_of_facility("da11") is metro
    assert found.plan(plan.id) is plan
    assert found.operating_system(system.id) is system
    assert found.plan(metro.id) is None
