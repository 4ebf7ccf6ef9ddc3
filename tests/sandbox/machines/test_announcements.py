# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of an address that machines announce by ARP."""

from __future__ import annotations

import pytest

from sandbox.machines.announcements import LEASE_DURATION, RENEW_DEADLINE, Announcements


def test_one_machine_has_the_address_until_its_lease_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("sandbox.machines.announcements.time.monotonic", lambda: now[0])
    network = Announcements()
    assert network.renew("192.0.2.5", "one", "192.0.2.10")
    assert not network.renew("192.0.2.5", "other", "192.0.2.11")
    assert [(address, lease.own_address) for address, lease in network.leased()] == [("192.0.2.5", "192.0.2.10")]
    now[0] += RENEW_DEADLINE
    assert not list(network.leased())
    assert not network.renew("192.0.2.5", "other", "192.0.2.11")
    now[0] += LEASE_DURATION - RENEW_DEADLINE
    assert network.renew("192.0.2.5", "other", "192.0.2.11")
    assert network.accepts("other", "192.0.2.5")
