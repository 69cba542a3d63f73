/*
 * clients.c and stack.c against a guest made of a few lines: an echo server
 * with just enough TCP, over two links, on a clock that the test moves.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/clients.h"
#include "ringstep/net/ether.h"
#include "ringstep/net/link.h"
#include "ringstep/net/stack.h"
#include "ringstep/net/steering.h"
#include "fake-clock.h"
#include "guest-frames.h"

#define LATENCY_NS   1000
#define MS           1000000LL
#define SERVER_PORT  7000
#define SEGMENT      1460

typedef struct GuestConn {
    uint32_t seq;               /* of the next byte that the guest sends */
    uint32_t ack;               /* that it expects */
    bool open;
    bool fin_sent;
} GuestConn;

static FakeClock clk;
static PeerLink to_guest, to_peer;
static PeerAddresses addr;
static PeerMeasure measure;
static PeerClients *clients;
static PeerEvent tick;
static GuestConn guest[65536];
static uint64_t digest;         /* of all frames to the guest */

/* What goes wrong */
static unsigned drop_every;     /* frames to the guest */
static unsigned refuse;         /* so many SYNs */
static bool garble;             /* change a byte of each reply */
static bool guest_gso;          /* the guest sends large frames */
static int64_t last_ack_ns;    /* arrival of the last pure ACK */
static unsigned frames_to_guest, large_to_guest, resets_to_guest;

static void guest_send(uint16_t port, uint8_t flags, const uint8_t *data,
                       uint32_t len)
{
    GuestConn *g = &guest[port];
    PeerFrame *frame = peer_frame_new(58 + len);

    frame->len = guest_tcp(frame->data, port, SERVER_PORT, g->seq, g->ack,
                           flags, data, len);
    frame->wire_bytes = peer_wire_bytes(54, len, SEGMENT);
    frame->flow = port;
    g->seq += len + !!(flags & (TCP_SYN | TCP_FIN));
    peer_link_send(&to_peer, frame);
}

static void guest_echo(uint16_t port, uint8_t *data, uint32_t len)
{
    uint32_t most = guest_gso ? 60000 : SEGMENT;

    if (garble) {
        data[len / 2] ^= 1;
    }
    while (len) {
        uint32_t piece = MIN(len, most);

        guest_send(port, TCP_ACK | (piece == len ? TCP_PSH : 0), data, piece);
        data += piece;
        len -= piece;
    }
}

/* The guest sends without being asked */
static void guest_push(uint32_t len)
{
    static uint8_t data[SEGMENT];

    for (int port = 1; port < 65536; port++) {
        if (guest[port].open) {
            guest_send(port, TCP_ACK | TCP_PSH, data, len);
        }
    }
}

static void guest_receive(PeerLink *wire, PeerFrame *frame)
{
    uint8_t *tcp = frame->data + 34;
    uint16_t port = lduw_be_p(tcp);
    uint32_t seq = ldl_be_p(tcp + 4);
    uint32_t hlen = (tcp[12] >> 4) * 4;
    uint32_t len = frame->len - 34 - hlen;
    uint8_t flags = tcp[13];
    GuestConn *g = &guest[port];

    frames_to_guest++;
    g_assert_cmpuint(net_raw_checksum(frame->data + 14, 20), ==, 0);
    /* lwIP's identification counter is never set back, but all else is */
    stw_be_p(frame->data + 18, 0);
    stw_be_p(frame->data + 24, 0);
    for (uint32_t i = 0; i < frame->len; i += 8) {
        uint64_t word = 0;

        memcpy(&word, frame->data + i, MIN(8, frame->len - i));
        digest = peer_mix64(digest + word + 1);
    }
    digest = peer_mix64(digest + peer_now(clk.evs));

    g_assert_cmpuint(lduw_be_p(frame->data + 16), ==, frame->len - 14);
    g_assert_cmpuint(hlen, ==, frame->tcp_hlen);
    if (frame->gso_size) {
        large_to_guest++;
        g_assert_cmpuint(len, >, frame->gso_size);
    } else {
        g_assert_cmpuint(frame->len, <=, PEER_ETH_HLEN + PEER_MTU);
    }

    if (!len && flags == TCP_ACK) {
        last_ack_ns = peer_now(clk.evs);
    }
    if (drop_every && frames_to_guest % drop_every == 0) {
        /* lost */
    } else if (flags & TCP_RST) {
        resets_to_guest++;
        g->open = false;
    } else if (flags & TCP_SYN) {
        g->ack = seq + 1;
        if (refuse) {
            refuse--;
            g->seq = 0;
            guest_send(port, TCP_RST | TCP_ACK, NULL, 0);
        } else {
            g->seq = 1000000 + port;
            g->open = true;
            g->fin_sent = false;
            guest_send(port, TCP_SYN | TCP_ACK, NULL, 0);
        }
    } else if (g->open && len) {
        if (seq == g->ack) {
            g->ack += len;
            guest_echo(port, tcp + hlen, len);
        } else {
            guest_send(port, TCP_ACK, NULL, 0);
        }
    }
    peer_frame_free(frame);
}

static void peer_receive(PeerLink *wire, PeerFrame *frame)
{
    uint32_t wire_bytes = frame->wire_bytes;
    struct virtio_net_hdr hdr = {
        .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
        .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
        .gso_size = SEGMENT,
        .csum_start = 34,
        .csum_offset = 16,
    };

    if (peer_ether_check(&addr, frame, &hdr) == PEER_FRAME_IP) {
        if (guest_gso) {
            g_assert_cmpuint(frame->wire_bytes, ==, wire_bytes);
        }
        peer_stack_input(frame);
    } else {
        peer_frame_free(frame);
    }
}

static void output(void *opaque, PeerFrame *frame)
{
    peer_ether_address(&addr, frame);
    peer_link_send(&to_guest, frame);
}

static void tick_fired(PeerEvent *ev)
{
    peer_event_at(clk.evs, ev, peer_now(clk.evs) + PEER_STACK_TICK_MS * MS);
    peer_stack_tick();
}

static void begin(const PeerClientsConfig *config, bool gso)
{
    PeerStackConfig stack = {
        .seed = config->seed,
        .peer_ip = htonl(PEER_IP),
        .guest_ip = htonl(GUEST_IP),
        .output = output,
    };

    memset(guest, 0, sizeof(guest));
    drop_every = refuse = 0;
    frames_to_guest = large_to_guest = resets_to_guest = 0;
    garble = guest_gso = false;
    digest = 0;
    last_ack_ns = 0;
    fake_clock_init(&clk);
    stack.evs = clk.evs;
    addr = test_addresses();
    peer_link_init(&to_guest, clk.evs, 0, LATENCY_NS, guest_receive);
    peer_link_init(&to_peer, clk.evs, 0, LATENCY_NS, peer_receive);
    peer_measure_init(&measure);
    peer_stack_init(&stack);
    peer_stack_set_gso(gso);
    clients = peer_clients_new(config, clk.evs, &measure);
    tick = (PeerEvent) { .func = tick_fired };
    peer_event_at(clk.evs, &tick, PEER_STACK_TICK_MS * MS);
    peer_measure_begin(&measure, 0);
    peer_clients_start(clients, SERVER_PORT);
}

static void end(void)
{
    g_assert_cmpuint(peer_stack_stats()->faults, ==, 0);
    peer_clients_free(clients);
    peer_stack_cleanup();
    peer_link_clear(&to_guest);
    peer_link_clear(&to_peer);
    peer_event_cancel(clk.evs, &tick);
    peer_measure_cleanup(&measure);
    peer_events_free(clk.evs);
}

static const PeerClientsStats *stats(void)
{
    return peer_clients_stats(clients);
}

static uint64_t latency(unsigned i)
{
    g_assert_cmpuint(i, <, measure.latencies->len);
    return g_array_index(measure.latencies, uint64_t, i);
}

static const PeerClientsConfig simple = {
    .connections = 1, .depth = 1, .message_size = 64, .seed = 1,
};

/* The link's latency both ways, and not a nanosecond more */
static void test_latency(void)
{
    begin(&simple, true);
    fake_clock_run(&clk, 10 * MS);
    g_assert_cmpuint(stats()->connected, ==, 1);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    /* the first round trip goes for the handshake */
    g_assert_cmpuint(measure.requests, ==, 10 * MS / 2000 - 1);
    g_assert_cmpuint(measure.bytes, ==, measure.requests * 64);
    for (unsigned i = 0; i < measure.requests; i++) {
        g_assert_cmpuint(latency(i), ==, 2 * LATENCY_NS);
    }
    end();
}

/* Requests count from begin to just before end */
static void test_window(void)
{
    begin(&simple, true);
    measure.begin_ns = 10000;
    measure.end_ns = 20000;
    measure.ended = true;
    fake_clock_run(&clk, MS);
    /* replies at 4, 6, 8, ... us */
    g_assert_cmpuint(measure.requests, ==, 5);
    g_assert_cmpuint(stats()->requests, ==, 499);
    end();
}

static void test_think(void)
{
    PeerClientsConfig config = simple;

    config.think_ns = 8000;
    begin(&config, true);
    fake_clock_run(&clk, 10 * MS);
    /* one think time before the first request too */
    g_assert_cmpuint(measure.requests, ==, (10 * MS - 2000) / 10000);
    end();
}

/* An ACK that no request carries leaves 40 ms after the reply, exactly */
static void test_delayed_ack(void)
{
    PeerClientsConfig config = simple;

    config.think_ns = 100 * MS;
    begin(&config, true);
    fake_clock_run(&clk, 150 * MS);
    /* request at 100 ms + 2000 ns, its reply 2000 ns later */
    g_assert_cmpint(last_ack_ns, ==, 140 * MS + 4000 + LATENCY_NS);
    fake_clock_run(&clk, 250 * MS);
    g_assert_cmpint(last_ack_ns, ==, 240 * MS + 6000 + LATENCY_NS);
    end();

    config.think_ns = 30 * MS;
    begin(&config, true);
    fake_clock_run(&clk, 1000 * MS);
    /* requests carry them; what there was is the handshake's */
    g_assert_cmpint(last_ack_ns, ==, 2000 + LATENCY_NS);
    end();
}

/* One CPU serves all connections: its speed is the limit, in order */
static void test_service(void)
{
    PeerClientsConfig config = simple;

    config.connections = 4;
    config.service_ns = 5000;
    begin(&config, true);
    fake_clock_run(&clk, 10 * MS);
    /* the first reply arrives at 4000 ns */
    g_assert_cmpuint(measure.requests, ==, (10 * MS - 4000) / 5000);
    g_assert_cmpuint(latency(0), ==, 2000 + 5000);
    g_assert_cmpuint(latency(1), ==, 2000 + 10000);
    g_assert_cmpuint(latency(3), ==, 2000 + 20000);
    g_assert_cmpuint(latency(100), ==, 20000);
    end();
}

static void test_depth(void)
{
    PeerClientsConfig config = simple;

    config.depth = 7;
    config.message_size = 13;
    begin(&config, true);
    fake_clock_run(&clk, MS);
    g_assert_cmpuint(measure.requests, ==, 7 * (MS / 2000 - 1));
    end();
}

/*
 * A group waits for its slowest: replies come two by two of four, 5 us apart,
 * and the next requests of all leave with the last.
 */
static void test_group(void)
{
    PeerClientsConfig config = simple;

    config.connections = 4;
    config.depth = 2;
    config.group = 2;
    config.service_ns = 5000;
    config.think_ns = 1000;
    begin(&config, true);
    fake_clock_run(&clk, 10 * MS);
    /* Both groups have four slots; the CPU serves eight a round */
    g_assert_cmpuint(latency(0), ==, 2000 + 5000);
    g_assert_cmpuint(latency(3), ==, 2000 + 20000);
    g_assert_cmpuint(latency(7), ==, 2000 + 40000);
    /*
     * The first group's second round: sent 1 us after its last service, it is
     * back when the CPU is in the second group's first slot
     */
    g_assert_cmpuint(latency(8), ==, 40000 - 20000 - 1000 + 5000);
    g_assert_cmpuint(latency(11), ==, latency(8) + 15000);
    g_assert_cmpuint(measure.requests, ==, (10 * MS - 5000) / 5000);
    end();

    config.group = 4;
    begin(&config, true);
    fake_clock_run(&clk, 10 * MS);
    /* All eight go together: the CPU is idle while they think and travel */
    for (unsigned i = 0; i < measure.requests; i++) {
        g_assert_cmpuint(latency(i), ==, 2000 + 5000 * (i % 8 + 1));
    }
    /* Connected at 2 us, first served at 10 us; a round takes 43: 232 and 3/8 */
    g_assert_cmpuint(measure.requests, ==, 232 * 8 + 3);
    end();
}

/* The last group is what is left; groups do not wait for each other */
static void test_group_uneven(void)
{
    PeerClientsConfig config = simple;

    config.connections = 5;
    config.group = 3;
    begin(&config, true);
    fake_clock_run(&clk, MS);
    g_assert_cmpuint(measure.requests, ==, 5 * (MS / 2000 - 1));
    end();
}

static void run_large(bool gso, uint32_t size)
{
    PeerClientsConfig config = simple;

    config.message_size = size;
    config.connections = 3;
    begin(&config, gso);
    guest_gso = gso;
    fake_clock_run(&clk, MS);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    g_assert_cmpuint(peer_stack_stats()->retransmits, ==, 0);
    g_assert_cmpuint(stats()->open, ==, 3);
    g_assert_cmpuint(measure.requests, >, 10 * 65536 / size);
    g_assert_cmpuint(!large_to_guest, ==, !gso);
    end();
}

static void test_large(void)
{
    run_large(false, 65536);
    run_large(true, 65536);
    run_large(true, 1000000);
    run_large(true, 2000);
}

static void test_many(void)
{
    PeerClientsConfig config = {
        .connections = 6000, .depth = 1, .message_size = 12, .seed = 3,
        .think_ns = 4 * MS, .think_dist = PEER_THINK_EXPONENTIAL,
        .start_spread_ns = 10 * MS,
    };
    gint64 start = g_get_monotonic_time();

    begin(&config, true);
    fake_clock_run(&clk, 200 * MS);
    g_assert_cmpuint(stats()->open, ==, 6000);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    g_assert_cmpuint(measure.requests, >, 6000 * 45);
    g_assert_cmpuint(measure.requests, <, 6000 * 50);
    g_test_message("%" PRIu64 " requests, %" PRId64 " ns of host time each",
                   measure.requests,
                   (g_get_monotonic_time() - start) * 1000 /
                   (int64_t)measure.requests);
    end();
}

/* What is lost is sent again, and comes in order */
static void test_loss(void)
{
    PeerClientsConfig config = simple;

    config.connections = 10;
    config.message_size = 20000;
    begin(&config, true);
    drop_every = 30;
    fake_clock_run(&clk, 20000 * MS);
    g_assert_cmpuint(peer_stack_stats()->retransmits, >, 10);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    g_assert_cmpuint(stats()->open, ==, 10);
    g_assert_cmpuint(measure.requests, >, 100);
    end();
}

static void test_garbled(void)
{
    begin(&simple, true);
    fake_clock_run(&clk, MS);
    garble = true;
    fake_clock_run(&clk, 2 * MS);
    g_assert_cmpuint(stats()->payload_errors, ==, 1);
    g_assert_cmpuint(stats()->open, ==, 0);
    g_assert_cmpuint(resets_to_guest, ==, 1);
    end();
}

/* More bytes than were asked for */
static void test_unasked(void)
{
    uint16_t port = 0;

    begin(&simple, true);
    fake_clock_run(&clk, MS);
    for (int i = 1; i < 65536; i++) {
        port = guest[i].open ? i : port;
    }
    guest_send(port, TCP_ACK, NULL, 65);
    fake_clock_run(&clk, 2 * MS);
    g_assert_cmpuint(stats()->payload_errors, ==, 1);
    end();
}

/* A sink counts whole messages.  What it would send, the guest would echo. */
static void test_sink(void)
{
    PeerClientsConfig config = simple;

    config.protocol = PEER_PROTOCOL_SINK;
    config.connections = 2;
    begin(&config, true);
    fake_clock_run(&clk, MS);
    g_assert_cmpuint(stats()->open, ==, 2);
    guest_push(63);
    fake_clock_run(&clk, 2 * MS);
    g_assert_cmpuint(measure.requests, ==, 0);
    guest_push(1);
    fake_clock_run(&clk, 3 * MS);
    g_assert_cmpuint(measure.requests, ==, 2);
    guest_push(64 * 3 + 1);
    fake_clock_run(&clk, 4 * MS);
    g_assert_cmpuint(measure.requests, ==, 8);
    g_assert_cmpuint(measure.bytes, ==, 8 * 64);
    /* established at 2000 ns; the three that come at once have no distance */
    g_assert_cmpuint(latency(0), ==, 2 * MS + LATENCY_NS - 2000);
    g_assert_cmpuint(latency(2), ==, MS);
    g_assert_cmpuint(latency(3), ==, 0);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    end();
}

/* A server that is not there yet is asked again */
static void test_refused(void)
{
    begin(&simple, true);
    refuse = 3;
    fake_clock_run(&clk, 100 * MS);
    g_assert_cmpuint(stats()->refused, ==, 3);
    g_assert_cmpuint(stats()->connected, ==, 1);
    g_assert_cmpuint(measure.requests, >, 1000);
    end();
}

static void run_ends(uint32_t group)
{
    PeerClientsConfig config = simple;
    uint64_t requests;
    unsigned closed = 0, reset = 0;

    config.connections = 4;
    config.group = group;
    begin(&config, true);
    fake_clock_run(&clk, MS);
    for (int port = 1; port < 65536; port++) {
        if (guest[port].open && !closed) {
            closed = port;
            guest[port].open = false;
            guest_send(port, TCP_FIN | TCP_ACK, NULL, 0);
        } else if (guest[port].open && !reset) {
            reset = port;
            guest[port].open = false;
            guest_send(port, TCP_RST | TCP_ACK, NULL, 0);
        }
    }
    fake_clock_run(&clk, 2 * MS);
    g_assert_cmpuint(stats()->closes, ==, 1);
    g_assert_cmpuint(stats()->resets, ==, 1);
    g_assert_cmpuint(stats()->open, ==, 2);
    requests = stats()->requests;
    fake_clock_run(&clk, 3 * MS);
    g_assert_cmpuint(stats()->requests, ==, requests + 2 * MS / 2000);
    fake_clock_run(&clk, 500 * MS);
    g_assert_cmpuint(stats()->payload_errors, ==, 0);
    end();
}

/* A connection that ends leaves the others, of its group too, to go on */
static void test_ends(void)
{
    run_ends(0);
    run_ends(4);
}

/* Segments with anything in them, for connections that live */
static void run_hostile(uint64_t seed)
{
    PeerClientsConfig config = simple;
    uint16_t ports[8];
    unsigned count = 0;
    uint8_t data[3000];
    PeerRng rng;

    config.connections = ARRAY_SIZE(ports);
    config.message_size = 5000;
    config.think_ns = 100000;
    config.seed = seed;
    begin(&config, seed & 1);
    fake_clock_run(&clk, MS);
    for (int port = 1; port < 65536; port++) {
        if (guest[port].open) {
            ports[count++] = port;
        }
    }
    g_assert_cmpuint(count, ==, ARRAY_SIZE(ports));

    peer_rng_init(&rng, seed, 99);
    for (int i = 0; i < 20000; i++) {
        uint16_t port = ports[peer_rng_below(&rng, count)];
        GuestConn *g = &guest[port];
        uint32_t near = peer_rng_below(&rng, 8000) - 4000;
        uint32_t seq = g->seq, ack = g->ack;
        uint32_t len = peer_rng_below(&rng, 4) ? 0 :
                       peer_rng_below(&rng, 1400);
        uint8_t flags = TCP_ACK;
        PeerFrame *frame = peer_frame_new(200 + len);

        switch (peer_rng_below(&rng, 4)) {
        case 0:
            seq += near;
            break;
        case 1:
            ack += near;
            break;
        case 2:
            seq = peer_rng_next(&rng);
            break;
        }
        if (!peer_rng_below(&rng, 4)) {
            flags = peer_rng_next(&rng) & ~TCP_RST;
        }
        if (!peer_rng_below(&rng, 200)) {
            flags |= TCP_RST;
        }
        for (int j = 0; j < 160; j++) {
            data[j] = peer_rng_next(&rng);
        }
        /* a payload that in part stands for options */
        frame->len = guest_tcp(frame->data, port, SERVER_PORT, seq, ack,
                               flags & ~TCP_SYN, len > 160 ? NULL : data, len);
        frame->data[47] = flags;
        if (len >= 40) {
            frame->data[46] = (5 + peer_rng_below(&rng, 11)) << 4;
        }
        if (!peer_rng_below(&rng, 3)) {
            stw_be_p(frame->data + 48, peer_rng_below(&rng, 3) *
                     peer_rng_below(&rng, 3000));
        }
        frame->wire_bytes = 100;
        frame->flow = port;
        peer_link_send(&to_peer, frame);
        fake_clock_run(&clk, clk.now_ns + peer_rng_below(&rng, 20) * 10000);
    }
    fake_clock_run(&clk, clk.now_ns + 5000 * MS);
    end();
}

static void test_hostile(void)
{
    for (int seed = 1; seed <= 20; seed++) {
        run_hostile(seed);
    }
}

/* The same seed: the same frames at the same times.  Another: others. */
static void test_repeat(void)
{
    uint64_t digests[3];

    for (int i = 0; i < 3; i++) {
        PeerClientsConfig config = {
            .connections = 50, .depth = 2, .message_size = 3000,
            .think_ns = 50000, .think_dist = PEER_THINK_UNIFORM,
            .start_spread_ns = MS, .seed = i < 2 ? 5 : 6,
        };

        begin(&config, true);
        drop_every = 100;
        fake_clock_run(&clk, 1000 * MS);
        digests[i] = digest;
        end();
    }
    g_assert_cmphex(digests[0], ==, digests[1]);
    g_assert_cmphex(digests[0], !=, digests[2]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/net/clients/latency", test_latency);
    g_test_add_func("/net/clients/window", test_window);
    g_test_add_func("/net/clients/think", test_think);
    g_test_add_func("/net/clients/delayed-ack", test_delayed_ack);
    g_test_add_func("/net/clients/service", test_service);
    g_test_add_func("/net/clients/depth", test_depth);
    g_test_add_func("/net/clients/group", test_group);
    g_test_add_func("/net/clients/group-uneven", test_group_uneven);
    g_test_add_func("/net/clients/large", test_large);
    g_test_add_func("/net/clients/many", test_many);
    g_test_add_func("/net/clients/loss", test_loss);
    g_test_add_func("/net/clients/garbled", test_garbled);
    g_test_add_func("/net/clients/unasked", test_unasked);
    g_test_add_func("/net/clients/sink", test_sink);
    g_test_add_func("/net/clients/refused", test_refused);
    g_test_add_func("/net/clients/ends", test_ends);
    g_test_add_func("/net/clients/hostile", test_hostile);
    g_test_add_func("/net/clients/repeat", test_repeat);
    return g_test_run();
}
