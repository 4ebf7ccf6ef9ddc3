# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines of an OpenStack Ironic: enrolment of servers, the backend of the Metal API's devices, and an Ironic of its own."""
