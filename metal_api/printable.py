# Copyright: (c) 2026, equinix_metal.openshift contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of other systems, such as a BMC's error in Ironic's words, for terminals and logs."""

from __future__ import annotations

import logging


def printable(text: str) -> str:
    r"""Return ``text`` as one line without control characters.

    >>> printable("off\n2026 INFO on")
    'off\\n2026 INFO on'
    """
    return text if text.isprintable() else "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class PrintableFormatter(logging.Formatter):
    """A formatter for which a message is one line: what it quotes cannot forge another entry. Tracebacks follow as they are."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as in the parent
        record.message = printable(record.message)
        return super().formatMessage(record)
