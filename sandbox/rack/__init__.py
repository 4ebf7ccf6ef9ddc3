# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rack of emulated machines: QEMU behind a Redfish API, for a bare metal controller that finds no difference to real ones.

``model``: what a rack consists of, and its file. ``machine``: one machine with power, boot device, virtual media and console, over ``qmp``.
``emulator``: the BMCs, by sushy-tools, in a process of its own (``python -m sandbox.rack --config FILE``). ``rack``: that process as a
child of the sandbox or of a test. There is no libvirt, which would need a daemon of root, system users and files in /etc.

``model``, ``machine``, ``qmp`` and ``emulator`` run in the environment of ``requirements.txt``: they import nothing else of this project.
"""
