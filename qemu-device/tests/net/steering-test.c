/*
 * steering.c: a flow follows the guest's transmit queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/steering.h"

static PeerSteering st;

static void test_follow(void)
{
    peer_steering_init(&st, 1);
    for (unsigned q = 0; q < PEER_MAX_QUEUES; q++) {
        peer_steering_learn(&st, 40000, q);
        g_assert_cmpuint(peer_steering_pick(&st, 40000, 0xffff), ==, q);
    }
    peer_steering_learn(&st, 40001, 2);
    g_assert_cmpuint(peer_steering_pick(&st, 40000, 0xffff), ==, 15);
    g_assert_cmpuint(peer_steering_pick(&st, 40001, 0xffff), ==, 2);
}

/* Flows that the guest has not sent for are spread, the same way each time */
static void test_spread(void)
{
    unsigned hits[4] = {};

    peer_steering_init(&st, 1);
    for (unsigned port = 10000; port < 14000; port++) {
        unsigned q = peer_steering_pick(&st, port, 0xf);

        g_assert_cmpuint(q, <, 4);
        g_assert_cmpuint(q, ==, peer_steering_pick(&st, port, 0xf));
        hits[q]++;
    }
    for (int q = 0; q < 4; q++) {
        g_assert_cmpuint(hits[q], >, 900);
        g_assert_cmpuint(hits[q], <, 1100);
    }
    g_assert_cmpuint(peer_steering_pick(&st, PEER_FLOW_OTHER, 0xf), ==, 0);
}

/* A queue that the guest has not set up gets nothing */
static void test_usable(void)
{
    peer_steering_init(&st, 1);
    peer_steering_learn(&st, 5, 3);
    g_assert_cmpuint(peer_steering_pick(&st, 5, 0xf), ==, 3);
    for (unsigned port = 1; port < 1000; port++) {
        g_assert_cmpuint(peer_steering_pick(&st, port, 0x2), ==, 1);
        g_assert_cmpuint((1 << peer_steering_pick(&st, port, 0x5)) & 0x5, !=,
                         0);
        g_assert_cmpuint(peer_steering_pick(&st, port, 0), ==, 0);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/steering/follow", test_follow);
    g_test_add_func("/net/steering/spread", test_spread);
    g_test_add_func("/net/steering/usable", test_usable);
    return g_test_run();
}
