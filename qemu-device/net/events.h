/*
 * The peer's own event queue: one timer on the virtual clock serves everything
 * that the peer does at a later time.
 *
 * Events fire in the order of their times, and in the order in which they were
 * scheduled when the times are equal, so that a run has one order of events
 * only.  While an event runs, peer_now() is the time for which the event was
 * scheduled, not the moment at which the timer happened to fire: delays add up
 * exactly.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_EVENTS_H
#define RINGSTEP_NET_EVENTS_H

typedef struct PeerEvent PeerEvent;
typedef struct PeerEvents PeerEvents;

typedef void PeerEventFunc(PeerEvent *ev);

/* Part of the object that waits.  All zero but for @func: not scheduled. */
struct PeerEvent {
    PeerEventFunc *func;
    int64_t time_ns;
    uint64_t order;
    uint32_t slot;              /* place in the heap + 1, 0: not scheduled */
};

typedef struct PeerClock {
    /* The time now, in nanoseconds */
    int64_t (*get_ns)(void *opaque);
    /* Call peer_events_run() at @time_ns, and forget the earlier request */
    void (*arm)(void *opaque, int64_t time_ns);
    void *opaque;
} PeerClock;

PeerEvents *peer_events_new(const PeerClock *clock);
void peer_events_free(PeerEvents *evs);

/* The time of the event that runs, else the clock's */
int64_t peer_now(PeerEvents *evs);

/*
 * Schedule @ev, which must not be scheduled.  A time in the past fires as soon
 * as possible, and is taken for the present.
 */
void peer_event_at(PeerEvents *evs, PeerEvent *ev, int64_t time_ns);
void peer_event_cancel(PeerEvents *evs, PeerEvent *ev);

static inline bool peer_event_pending(const PeerEvent *ev)
{
    return ev->slot != 0;
}

/* Fire everything that is due */
void peer_events_run(PeerEvents *evs);

#endif
