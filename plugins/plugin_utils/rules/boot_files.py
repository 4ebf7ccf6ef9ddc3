# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of the files that devices boot from.

Note that this plugin util is private to the collection: it may change without notice.
"""

from __future__ import annotations

from ansible_collections.equinix_metal.openshift.plugins.module_utils.openshift import boot_files as files

__all__ = ["bootstrap_pointer", "contents", "live_images", "profiles", "urls"]

bootstrap_pointer = files.bootstrap_pointer
contents = files.boot_contents
live_images = files.boot_images
profiles = files.boot_profiles
urls = files.boot_urls
