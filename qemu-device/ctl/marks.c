/*
 * The marks of a run
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/timer.h"
#include "marks.h"

static NotifierList subscribers = NOTIFIER_LIST_INITIALIZER(subscribers);

void ringstep_marks_subscribe(Notifier *notifier)
{
    notifier_list_add(&subscribers, notifier);
}

void ringstep_marks_fire(RingstepMark mark, uint32_t arg)
{
    RingstepMarkEvent event = {
        .mark = mark,
        .arg = arg,
        .time_ns = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
    };

    notifier_list_notify(&subscribers, &event);
}
