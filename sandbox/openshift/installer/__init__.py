# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for ``openshift-install``: the same commands, files, certificates, log lines and exit codes, no cloud.

The mirror serves this package as an executable archive (`sandbox.openshift.mirror`), with the release it is of in
``release.json`` beside this file; therefore it imports nothing of the sandbox outside itself. For debugging
``python -m sandbox.openshift.installer`` runs it from the checkout as the newest release.

Environment:

``SANDBOX_INSTALLER_FAIL``
    Ends a step as if it had failed: ``install-config`` (any create, exit 3), ``bootstrap`` (wait-for bootstrap-complete, 5),
    ``install`` (wait-for install-complete, 6), ``operators`` (its operators never settle, 7); several with commas.
``SANDBOX_INSTALLER_SPEED``
    Divides all time limits and intervals of wait-for (texts still have the real ones). Default 1.
``SANDBOX_INSTALLER_STRICT``
    ``1`` refuses unknown fields of install-config.yaml, as the newest installers do, rather than warning.
``OPENSHIFT_INSTALL_RELEASE_IMAGE_OVERRIDE``
    As with the real one: changes the release image, with a warning.
"""
