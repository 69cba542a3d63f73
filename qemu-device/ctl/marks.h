/*
 * The marks of a run: what the guest tells about its course
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_CTL_MARKS_H
#define RINGSTEP_CTL_MARKS_H

#include "qemu/notify.h"

typedef enum RingstepMark {
    RINGSTEP_MARK_READY,        /* the server listens; arg: its TCP port */
    RINGSTEP_MARK_BEGIN,        /* the measured window begins */
    RINGSTEP_MARK_END,          /* and ends */
    RINGSTEP_MARK_EXIT,         /* the run ends; arg: exit code, 0 to 127 */
} RingstepMark;

typedef struct RingstepMarkEvent {
    RingstepMark mark;
    uint32_t arg;
    int64_t time_ns;            /* virtual */
} RingstepMarkEvent;

/**
 * ringstep_marks_subscribe: be told of every mark, in the order of marks.
 * @notifier: its notify() gets a const RingstepMarkEvent *, with the BQL held.
 */
void ringstep_marks_subscribe(Notifier *notifier);

/**
 * ringstep_marks_fire: tell all subscribers.  Call with the BQL held.
 */
void ringstep_marks_fire(RingstepMark mark, uint32_t arg);

#endif
