# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A replacement of ``openshift-install``: the files, certificates, log lines and exit codes of ``create``,
``coreos print-stream-json`` and ``version``.

The mirror serves this package as an executable archive (`sandbox.openshift.mirror`), with the release it is of in
``release.json`` beside this file; therefore it imports nothing of the sandbox outside itself. For debugging
``python -m sandbox.openshift.installer`` runs it from the checkout as the newest release.

Environment:

``SANDBOX_INSTALLER_STRICT``
    ``1`` refuses unknown fields of install-config.yaml, as the newest installers do, rather than warning.
``OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE``
    As with the real one: changes the release image, with a warning.
"""
