/*
 * link.c: exact times of arrival, and order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/link.h"
#include "fake-clock.h"

static FakeClock clk;
static PeerLink wire;
static int64_t arrivals[64];
static unsigned tags[64];
static unsigned count;

static void deliver(PeerLink *l, PeerFrame *frame)
{
    g_assert_true(l == &wire);
    g_assert_cmpuint(count, <, ARRAY_SIZE(arrivals));
    tags[count] = frame->flow;
    arrivals[count++] = peer_now(clk.evs);
    peer_frame_free(frame);
}

static void begin(uint64_t rate_bps, int64_t latency_ns)
{
    fake_clock_init(&clk);
    peer_link_init(&wire, clk.evs, rate_bps, latency_ns, deliver);
    count = 0;
}

static void end(void)
{
    peer_link_clear(&wire);
    peer_events_free(clk.evs);
}

static void send_frame(unsigned tag, uint32_t wire_bytes)
{
    PeerFrame *frame = peer_frame_new(100);

    frame->flow = tag;
    frame->wire_bytes = wire_bytes;
    peer_link_send(&wire, frame);
}

static void test_latency(void)
{
    begin(0, 5000);
    clk.now_ns = 100;
    send_frame(1, 1538);
    send_frame(2, 84);
    fake_clock_run(&clk, 5099);
    g_assert_cmpuint(count, ==, 0);
    fake_clock_run(&clk, 5100);
    g_assert_cmpuint(count, ==, 2);
    g_assert_cmpint(arrivals[0], ==, 5100);
    g_assert_cmpint(arrivals[1], ==, 5100);
    g_assert_cmpuint(tags[0], ==, 1);
    g_assert_cmpuint(tags[1], ==, 2);
    end();
}

/* 10 Gbit/s: a bit takes 100 ps, a full frame 1230.4 ns */
static void test_rate(void)
{
    begin(10000000000ULL, 1000);
    for (int i = 0; i < 5; i++) {
        send_frame(i, 1538);
    }
    g_assert_cmpint(peer_link_free_ns(&wire), ==, 6152);
    fake_clock_run(&clk, 100000);
    g_assert_cmpuint(count, ==, 5);
    for (int i = 0; i < 5; i++) {
        /* rounded up to nanoseconds, without adding up the roundings */
        g_assert_cmpint(arrivals[i], ==, 1000 + ((i + 1) * 12304 + 9) / 10);
        g_assert_cmpuint(tags[i], ==, i);
    }

    /* The link was idle: the next one starts when it is sent */
    send_frame(9, 84);
    fake_clock_run(&clk, 200000);
    g_assert_cmpint(arrivals[5], ==, 100000 + 68 + 1000);
    end();
}

/* vCPUs differ in time a little: order is that of sending all the same */
static void test_order(void)
{
    begin(1000000000, 0);
    clk.now_ns = 1000;
    send_frame(1, 125);
    clk.now_ns = 990;
    send_frame(2, 125);
    clk.now_ns = 1000;
    fake_clock_run(&clk, 10000);
    g_assert_cmpuint(tags[0], ==, 1);
    g_assert_cmpint(arrivals[0], ==, 2000);
    g_assert_cmpuint(tags[1], ==, 2);
    g_assert_cmpint(arrivals[1], ==, 3000);
    end();
}

static void test_bound(void)
{
    begin(1000000, 0);
    wire.held_bytes = PEER_LINK_MAX_BYTES - 150;
    send_frame(1, 125);
    g_assert_cmpuint(wire.drops, ==, 0);
    send_frame(2, 125);
    g_assert_cmpuint(wire.drops, ==, 1);
    end();
}

static void test_wire_bytes(void)
{
    g_assert_cmpuint(peer_wire_bytes(54, 0, 0), ==, 84);
    g_assert_cmpuint(peer_wire_bytes(66, 1448, 0), ==, 1538);
    g_assert_cmpuint(peer_wire_bytes(66, 1448, 1448), ==, 1538);
    g_assert_cmpuint(peer_wire_bytes(66, 1448 * 10, 1448), ==, 15380);
    g_assert_cmpuint(peer_wire_bytes(66, 1448 * 10 + 1, 1448), ==,
                     15380 + 66 + 1 + 24);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/link/latency", test_latency);
    g_test_add_func("/net/link/rate", test_rate);
    g_test_add_func("/net/link/order", test_order);
    g_test_add_func("/net/link/bound", test_bound);
    g_test_add_func("/net/link/wire-bytes", test_wire_bytes);
    return g_test_run();
}
