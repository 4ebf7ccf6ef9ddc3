"""The addresses that machines announce by ARP."""

from sandbox.machines.announcements import Announcements


def test_the_last_machine_that_configured_an_address_has_it_until_it_removes_it() -> None:
    network = Announcements()
    network.answer_arp("one", "192.0.2.5", "192.0.2.10")
    network.answer_arp("other", "192.0.2.5", "192.0.2.11")
    assert list(network.neighbors()) == [("192.0.2.5", ("other", "192.0.2.11"))]
    network.remove("one", "192.0.2.5")
    assert [address for address, _hop in network.neighbors()] == ["192.0.2.5"]
    network.remove("other", "192.0.2.5")
    assert not list(network.neighbors())
