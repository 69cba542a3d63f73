/*
 * The peer's event queue: a binary heap, ordered by time and then by the order
 * of scheduling.  QEMU's own timer lists are sorted linked lists, which would
 * make each think time of 6,000 connections a walk over the others.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/events.h"

struct PeerEvents {
    PeerClock clock;
    PeerEvent **heap;
    uint32_t count;
    uint32_t size;
    uint64_t next_order;
    bool running;               /* in peer_events_run() */
    int64_t now_ns;             /* time of the running event */
    int64_t armed_ns;           /* what the clock was asked for, -1: nothing */
};

PeerEvents *peer_events_new(const PeerClock *clock)
{
    PeerEvents *evs = g_new0(PeerEvents, 1);

    evs->clock = *clock;
    evs->armed_ns = -1;
    return evs;
}

void peer_events_free(PeerEvents *evs)
{
    if (evs) {
        g_free(evs->heap);
        g_free(evs);
    }
}

int64_t peer_now(PeerEvents *evs)
{
    return evs->running ? evs->now_ns : evs->clock.get_ns(evs->clock.opaque);
}

static bool before(const PeerEvent *a, const PeerEvent *b)
{
    return a->time_ns < b->time_ns ||
           (a->time_ns == b->time_ns && a->order < b->order);
}

static void place(PeerEvents *evs, uint32_t i, PeerEvent *ev)
{
    evs->heap[i] = ev;
    ev->slot = i + 1;
}

static void sift_up(PeerEvents *evs, uint32_t i, PeerEvent *ev)
{
    while (i > 0) {
        uint32_t parent = (i - 1) / 2;

        if (!before(ev, evs->heap[parent])) {
            break;
        }
        place(evs, i, evs->heap[parent]);
        i = parent;
    }
    place(evs, i, ev);
}

static void sift_down(PeerEvents *evs, uint32_t i, PeerEvent *ev)
{
    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child >= evs->count) {
            break;
        }
        if (child + 1 < evs->count &&
            before(evs->heap[child + 1], evs->heap[child])) {
            child++;
        }
        if (!before(evs->heap[child], ev)) {
            break;
        }
        place(evs, i, evs->heap[child]);
        i = child;
    }
    place(evs, i, ev);
}

static void remove_slot(PeerEvents *evs, uint32_t i)
{
    PeerEvent *last = evs->heap[--evs->count];

    evs->heap[i]->slot = 0;
    if (i == evs->count) {
        return;
    }
    if (i > 0 && before(last, evs->heap[(i - 1) / 2])) {
        sift_up(evs, i, last);
    } else {
        sift_down(evs, i, last);
    }
}

static void rearm(PeerEvents *evs)
{
    if (!evs->running && evs->count && evs->heap[0]->time_ns != evs->armed_ns) {
        evs->armed_ns = evs->heap[0]->time_ns;
        evs->clock.arm(evs->clock.opaque, evs->armed_ns);
    }
}

void peer_event_at(PeerEvents *evs, PeerEvent *ev, int64_t time_ns)
{
    assert(!ev->slot);

    if (evs->count == evs->size) {
        evs->size = evs->size ? evs->size * 2 : 64;
        evs->heap = g_renew(PeerEvent *, evs->heap, evs->size);
    }
    ev->time_ns = MAX(time_ns, peer_now(evs));
    ev->order = evs->next_order++;
    evs->count++;
    sift_up(evs, evs->count - 1, ev);
    rearm(evs);
}

void peer_event_cancel(PeerEvents *evs, PeerEvent *ev)
{
    /* The clock stays armed: a run with nothing to do costs little */
    if (ev->slot) {
        remove_slot(evs, ev->slot - 1);
    }
}

void peer_events_run(PeerEvents *evs)
{
    int64_t until_ns = evs->clock.get_ns(evs->clock.opaque);

    assert(!evs->running);
    evs->running = true;
    evs->armed_ns = -1;
    while (evs->count && evs->heap[0]->time_ns <= until_ns) {
        PeerEvent *ev = evs->heap[0];

        remove_slot(evs, 0);
        evs->now_ns = ev->time_ns;
        ev->func(ev);
    }
    evs->running = false;
    rearm(evs);
}
