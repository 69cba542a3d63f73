# SPDX-License-Identifier: GPL-2.0-or-later
"""The switches of the guest kernel: each turns one change on or off at boot."""

from .errors import Usage, unknown

SWITCHES = {
    "iowq_free_batch": "io-wq frees requests in batches of N (0 or 1: one by one; the RFC: 8)",
    "iowq_free_batch_flush": "a worker that goes to sleep sends its batch on (none or sleep)",
    "iowq_hybrid": "io-wq workers poll instead of blocking on pollable files (0 or 1)",
    "lazy_wake": "a DEFER_TASKRUN ring wakes its task when enough is done, not at once (0 or 1)",
    "tw_fifo": "a DEFER_TASKRUN ring runs its finished work in the order in which it came (0 or 1)",
    "tw_prio": "an SQPOLL thread completes reads and writes before other work (0 or 1)",
    "submit_tw": "submissions are issued by task_work: for benchmarks of tw_prio (0 or 1)",
}


def parameter(text):
    """The kernel parameter for `SWITCH=VALUE` or, for any module, `MODULE.NAME=VALUE`."""
    name, separator, value = text.partition("=")
    if not separator or not value or " " in text:
        raise Usage(f"--set {text}: not SWITCH=VALUE", "for example --set iowq_free_batch=8")
    if "." in name:
        return text
    if name not in SWITCHES:
        raise unknown("switch", name, SWITCHES)
    return f"io_uring.{text}"
