/*
 * A clock for tests: it stands until the test moves it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_TESTS_FAKE_CLOCK_H
#define RINGSTEP_TESTS_FAKE_CLOCK_H

#include "ringstep/net/events.h"

typedef struct FakeClock {
    int64_t now_ns;
    int64_t armed_ns;           /* -1: not */
    PeerEvents *evs;
} FakeClock;

static int64_t fake_get(void *opaque)
{
    FakeClock *clock = opaque;

    return clock->now_ns;
}

static void fake_arm(void *opaque, int64_t time_ns)
{
    FakeClock *clock = opaque;

    clock->armed_ns = time_ns;
}

static inline void fake_clock_init(FakeClock *clock)
{
    PeerClock ops = { .get_ns = fake_get, .arm = fake_arm, .opaque = clock };

    clock->now_ns = 0;
    clock->armed_ns = -1;
    clock->evs = peer_events_new(&ops);
}

/* Let everything up to @time_ns happen */
static inline void fake_clock_run(FakeClock *clock, int64_t time_ns)
{
    while (clock->armed_ns >= 0 && clock->armed_ns <= time_ns) {
        clock->now_ns = MAX(clock->now_ns, clock->armed_ns);
        clock->armed_ns = -1;
        peer_events_run(clock->evs);
    }
    clock->now_ns = MAX(clock->now_ns, time_ns);
}

#endif
