/*
 * events.c: events fire in the order of their times and, at one time, in the
 * order in which they were scheduled.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/events.h"
#include "ringstep/net/think.h"
#include "fake-clock.h"

#define MANY 5000

typedef struct Item {
    PeerEvent ev;
    uint64_t order;
} Item;

static FakeClock clk;
static int64_t last_ns;
static uint64_t last_order;
static unsigned fired;

static void item_fired(PeerEvent *ev)
{
    Item *item = container_of(ev, Item, ev);

    g_assert_cmpint(peer_now(clk.evs), ==, ev->time_ns);
    g_assert_cmpint(ev->time_ns, >=, last_ns);
    if (ev->time_ns == last_ns && fired) {
        g_assert_cmpuint(item->order, >, last_order);
    }
    last_ns = ev->time_ns;
    last_order = item->order;
    fired++;
}

static void test_order(void)
{
    g_autofree Item *items = g_new0(Item, MANY);
    unsigned cancelled = 0;
    PeerRng rng;

    fake_clock_init(&clk);
    peer_rng_init(&rng, 1, 1);
    last_ns = 0;
    fired = 0;
    for (unsigned i = 0; i < MANY; i++) {
        items[i].ev.func = item_fired;
        items[i].order = i;
        peer_event_at(clk.evs, &items[i].ev, peer_rng_below(&rng, MANY / 4));
    }
    for (unsigned i = 0; i < MANY; i += 3) {
        peer_event_cancel(clk.evs, &items[i].ev);
        peer_event_cancel(clk.evs, &items[i].ev);
        g_assert_false(peer_event_pending(&items[i].ev));
        cancelled++;
    }
    fake_clock_run(&clk, MANY / 8);
    g_assert_cmpuint(fired, >, 0);
    g_assert_cmpuint(fired, <, MANY - cancelled);
    fake_clock_run(&clk, MANY);
    g_assert_cmpuint(fired, ==, MANY - cancelled);
    g_assert_cmpint(clk.armed_ns, ==, -1);
    peer_events_free(clk.evs);
}

static Item second;

static void first_fired(PeerEvent *ev)
{
    peer_event_at(clk.evs, &second.ev, peer_now(clk.evs) + 10);
}

/*
 * A timer that fires late does not shift what follows, and the past is the
 * present.
 */
static void test_late(void)
{
    Item first = { .ev.func = first_fired };

    second = (Item) { .ev.func = item_fired };
    last_ns = 0;
    fired = 0;
    fake_clock_init(&clk);
    peer_event_at(clk.evs, &first.ev, 100);
    g_assert_cmpint(clk.armed_ns, ==, 100);
    clk.now_ns = 105;
    clk.armed_ns = -1;
    peer_events_run(clk.evs);
    g_assert_cmpint(clk.armed_ns, ==, 110);
    fake_clock_run(&clk, 200);
    g_assert_cmpint(last_ns, ==, 110);

    peer_event_at(clk.evs, &second.ev, 7);
    g_assert_cmpint(second.ev.time_ns, ==, 200);
    fake_clock_run(&clk, 200);
    g_assert_cmpuint(fired, ==, 2);
    peer_events_free(clk.evs);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/events/order", test_order);
    g_test_add_func("/net/events/late", test_late);
    return g_test_run();
}
