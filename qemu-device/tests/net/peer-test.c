/*
 * peer.c under QEMU's own virtio-net, with this test as the guest: handshake,
 * data, steering, offloads, back pressure, and everything that a guest should
 * not send.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "tests/qtest/libqtest.h"
#include "tests/qtest/libqos/libqos-pc.h"
#include "tests/qtest/libqos/malloc-pc.h"
#include "tests/qtest/libqos/pci-pc.h"
#include "tests/qtest/libqos/virtio.h"
#include "tests/qtest/libqos/virtio-pci.h"
#include "standard-headers/linux/virtio_config.h"
#include "standard-headers/linux/virtio_net.h"
#include "standard-headers/linux/virtio_ring.h"
#include "ringstep/ctl/ctl.h"
#include "guest-frames.h"

#define PAIRS         4
#define HDR           sizeof(struct virtio_net_hdr_mrg_rxbuf)
#define BUFFER        70000
#define BUFFERS       8         /* receive buffers of each queue */
#define SERVER_PORT   7000
#define LATENCY_NS    1000
#define MS            1000000
#define TIMEOUT_US    (10 * 1000 * 1000)

/* What the device may leave to the guest */
#define OFFLOADS      ((1ULL << VIRTIO_NET_F_GUEST_CSUM) | \
                       (1ULL << VIRTIO_NET_F_GUEST_TSO4) | \
                       (1ULL << VIRTIO_NET_F_GUEST_TSO6) | \
                       (1ULL << VIRTIO_NET_F_GUEST_ECN))

typedef struct Frame {
    struct virtio_net_hdr hdr;
    uint32_t len;
    uint8_t data[BUFFER];
} Frame;

typedef struct Guest {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QVirtioPCIDevice *nic;
    QVirtioDevice *dev;
    QVirtQueue *rx[PAIRS], *tx[PAIRS], *ctrl;
    uint64_t rx_buffer[PAIRS][BUFFERS];
    uint64_t tx_buffer;
    QPCIDevice *ctl;
    QPCIBar ctl_regs, ctl_message;
    char *folder, *results;
    /* The connection */
    uint16_t port;
    uint32_t seq, ack;
} Guest;

static Frame got, sent;

static void post_buffer(Guest *g, unsigned queue, unsigned i)
{
    uint32_t head = qvirtqueue_add(g->qts, g->rx[queue],
                                   g->rx_buffer[queue][i], BUFFER, true, false);

    qvirtqueue_kick(g->qts, g->dev, g->rx[queue], head);
}

static void post_buffers(Guest *g)
{
    for (unsigned q = 0; q < PAIRS; q++) {
        for (unsigned i = 0; i < BUFFERS; i++) {
            g->rx_buffer[q][i] = guest_alloc(&g->alloc, BUFFER);
            post_buffer(g, q, i);
        }
    }
}

static void set_pairs(Guest *g, uint16_t pairs)
{
    uint64_t mem = guest_alloc(&g->alloc, 16);
    uint32_t head;

    qtest_writeb(g->qts, mem, VIRTIO_NET_CTRL_MQ);
    qtest_writeb(g->qts, mem + 1, VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET);
    qtest_writew(g->qts, mem + 2, pairs);
    qtest_writeb(g->qts, mem + 4, 0xff);
    head = qvirtqueue_add(g->qts, g->ctrl, mem, 2, false, true);
    qvirtqueue_add(g->qts, g->ctrl, mem + 2, 2, false, true);
    qvirtqueue_add(g->qts, g->ctrl, mem + 4, 1, true, false);
    qvirtqueue_kick(g->qts, g->dev, g->ctrl, head);
    qvirtio_wait_used_elem(g->qts, g->dev, g->ctrl, head, NULL, TIMEOUT_US);
    g_assert_cmpint(qtest_readb(g->qts, mem + 4), ==, VIRTIO_NET_OK);
}

static void start_nic(Guest *g, uint64_t without, uint16_t pairs)
{
    uint64_t features;

    qvirtio_pci_start_hw(&g->nic->obj);
    features = qvirtio_get_features(g->dev);
    g_assert_true(features & (1ULL << VIRTIO_NET_F_MQ));
    g_assert_true(features & (1ULL << VIRTIO_NET_F_HOST_TSO4));
    g_assert_true(features & (1ULL << VIRTIO_NET_F_CSUM));
    g_assert_cmphex(features & OFFLOADS, ==, OFFLOADS);
    features &= ~(QVIRTIO_F_BAD_FEATURE | without |
                  (1ULL << VIRTIO_RING_F_INDIRECT_DESC) |
                  (1ULL << VIRTIO_RING_F_EVENT_IDX));
    qvirtio_set_features(g->dev, features);
    g_assert_cmpint(qvirtio_config_readw(g->dev, 8), ==, PAIRS);
    for (int i = 0; i < PAIRS; i++) {
        g->rx[i] = qvirtqueue_setup(g->dev, &g->alloc, 2 * i);
        g->tx[i] = qvirtqueue_setup(g->dev, &g->alloc, 2 * i + 1);
    }
    g->ctrl = qvirtqueue_setup(g->dev, &g->alloc, 2 * PAIRS);
    qvirtio_set_driver_ok(g->dev);
    set_pairs(g, pairs);
}

static void start(Guest *g, const char *options, uint64_t without,
                  uint16_t pairs)
{
    QPCIAddress addr = { .devfn = QPCI_DEVFN(3, 0) };

    memset(g, 0, sizeof(*g));
    g->folder = g_dir_make_tmp("ringstep-net-XXXXXX", NULL);
    g_assert_nonnull(g->folder);
    g->results = g_build_filename(g->folder, "results.txt", NULL);
    g->qts = qtest_initf("-machine q35 -nodefaults -no-shutdown "
                         "-netdev ringstep,id=n0,queues=%d,link-latency-ns=%d,"
                         "start-spread-ns=0%s "
                         "-device virtio-net-pci,netdev=n0,mq=on,vectors=10,"
                         "addr=03.0,romfile=,ioeventfd=off "
                         "-device ringstep-ctl,addr=04.0,results=%s",
                         PAIRS, LATENCY_NS, options, g->results);
    pc_alloc_init(&g->alloc, g->qts, 0);
    g->bus = qpci_new_pc(g->qts, &g->alloc);
    g->nic = virtio_pci_new(g->bus, &addr);
    g_assert_nonnull(g->nic);
    g->dev = &g->nic->vdev;
    g->tx_buffer = guest_alloc(&g->alloc, BUFFER + HDR);
    start_nic(g, without, pairs);

    g->ctl = qpci_device_find(g->bus, QPCI_DEVFN(4, 0));
    qpci_device_enable(g->ctl);
    g->ctl_regs = qpci_iomap(g->ctl, 0, NULL);
    g->ctl_message = qpci_iomap(g->ctl, 1, NULL);
}

static void say(Guest *g, const char *text)
{
    qpci_memwrite(g->ctl, g->ctl_message, 0, text, strlen(text));
    qpci_io_writel(g->ctl, g->ctl_regs, RINGSTEP_REG_DOORBELL, strlen(text));
    g_assert_cmpint(qpci_io_readl(g->ctl, g->ctl_regs, RINGSTEP_REG_STATUS),
                    ==, 0);
}

static void stop(Guest *g)
{
    g_autofree char *blob = g_build_filename(g->folder, "latency.bin", NULL);

    g_free(g->ctl);
    qos_object_destroy(&g->nic->obj);
    qpci_free_pc(g->bus);
    qtest_quit(g->qts);
    alloc_destroy(&g->alloc);
    unlink(g->results);
    unlink(blob);
    rmdir(g->folder);
    g_free(g->results);
    g_free(g->folder);
}

/* End the run; the value of a line of its results */
static void end_run(Guest *g)
{
    say(g, "exit 0\n");
}

static uint64_t result(Guest *g, const char *name)
{
    g_autofree char *text = NULL;
    g_autofree char *key = g_strdup_printf(" %s ", name);
    const char *at;

    g_assert_true(g_file_get_contents(g->results, &text, NULL, NULL));
    at = strstr(text, key);
    if (!at) {
        g_test_message("no %s in: %s", name, text);
        g_assert_not_reached();
    }
    return g_ascii_strtoull(at + strlen(key), NULL, 10);
}

/* Send bytes, header and all, and wait until the device has taken them */
static void send_raw(Guest *g, unsigned queue, const void *bytes, uint32_t len)
{
    uint32_t head;

    qtest_memwrite(g->qts, g->tx_buffer, bytes, len);
    head = qvirtqueue_add(g->qts, g->tx[queue], g->tx_buffer, len, false,
                          false);
    qvirtqueue_kick(g->qts, g->dev, g->tx[queue], head);
    qvirtio_wait_used_elem(g->qts, g->dev, g->tx[queue], head, NULL,
                           TIMEOUT_US);
}

static void send_frame(Guest *g, unsigned queue)
{
    g_autofree uint8_t *bytes = g_malloc0(HDR + sent.len);

    memcpy(bytes, &sent.hdr, sizeof(sent.hdr));
    memcpy(bytes + HDR, sent.data, sent.len);
    send_raw(g, queue, bytes, HDR + sent.len);
}

/* The next frame for @queue into @got, if there is one */
static bool receive(Guest *g, unsigned queue)
{
    uint32_t head, len;
    uint64_t buffer;

    if (!qvirtqueue_get_buf(g->qts, g->rx[queue], &head, &len)) {
        return false;
    }
    g_assert_cmpuint(len, >=, HDR);
    buffer = qtest_readq(g->qts, g->rx[queue]->desc + 16 * head);
    qtest_memread(g->qts, buffer, &got.hdr, sizeof(got.hdr));
    g_assert_cmpuint(qtest_readw(g->qts, buffer + 10), ==, 1);
    got.len = len - HDR;
    qtest_memread(g->qts, buffer + HDR, got.data, got.len);
    for (unsigned i = 0; i < BUFFERS; i++) {
        if (g->rx_buffer[queue][i] == buffer) {
            post_buffer(g, queue, i);
        }
    }
    return true;
}

/* The next frame within @ns on any queue, which it returns; -1: none */
static int receive_any(Guest *g, int64_t ns)
{
    for (int64_t waited = 0; ; waited += 200) {
        for (int q = 0; q < PAIRS; q++) {
            if (receive(g, q)) {
                return q;
            }
        }
        if (waited >= ns) {
            return -1;
        }
        qtest_clock_step(g->qts, 200);
    }
}

static void drain(Guest *g)
{
    qtest_clock_step(g->qts, 100 * LATENCY_NS);
    while (receive_any(g, 10 * LATENCY_NS) >= 0) {
        /* not of interest */
    }
}

static uint16_t got_flags(void)
{
    return got.data[47];
}

static uint32_t got_payload(void)
{
    return got.len - 34 - (got.data[46] >> 4) * 4;
}

static void arp_reply(Guest *g, unsigned queue)
{
    memset(&sent, 0, 200);
    memcpy(sent.data, test_peer_mac, 6);
    memcpy(sent.data + 6, test_guest_mac, 6);
    stw_be_p(sent.data + 12, 0x0806);
    stw_be_p(sent.data + 14, 1);
    stw_be_p(sent.data + 16, 0x0800);
    sent.data[18] = 6;
    sent.data[19] = 4;
    stw_be_p(sent.data + 20, 2);
    memcpy(sent.data + 22, test_guest_mac, 6);
    stl_be_p(sent.data + 28, GUEST_IP);
    memcpy(sent.data + 32, test_peer_mac, 6);
    stl_be_p(sent.data + 38, PEER_IP);
    sent.len = 42;
    send_frame(g, queue);
}

/* From the ready mark to the first SYN, on whatever queue that comes */
static int expect_syn(Guest *g)
{
    int queue;

    say(g, "ready 7000\n");
    queue = receive_any(g, MS);
    g_assert_cmpint(queue, ==, 0);
    g_assert_cmpint(lduw_be_p(got.data + 12), ==, 0x0806);
    g_assert_cmpint(lduw_be_p(got.data + 20), ==, 1);
    g_assert_cmphex(ldl_be_p(got.data + 38), ==, GUEST_IP);
    arp_reply(g, 0);

    queue = receive_any(g, MS);
    g_assert_cmpint(queue, >=, 0);
    g_assert_cmpint(got_flags(), ==, TCP_SYN);
    g_assert_true(!memcmp(got.data, test_guest_mac, 6));
    g_assert_cmpint(lduw_be_p(got.data + 36), ==, SERVER_PORT);
    g->port = lduw_be_p(got.data + 34);
    g->seq = 5000;
    g->ack = ldl_be_p(got.data + 38) + 1;
    return queue;
}

static void send_tcp(Guest *g, unsigned queue, uint8_t flags,
                     const void *payload, uint32_t len)
{
    memset(&sent.hdr, 0, sizeof(sent.hdr));
    sent.len = guest_tcp(sent.data, g->port, SERVER_PORT, g->seq, g->ack,
                         flags, payload, len);
    if (sent.len > 1514) {
        sent.hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
        sent.hdr.csum_start = 34;
        sent.hdr.csum_offset = 16;
        sent.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
        sent.hdr.gso_size = 1460;
        sent.hdr.hdr_len = 54;
        stw_be_p(sent.data + 50, 0xdead);
    }
    send_frame(g, queue);
    g->seq += len + !!(flags & (TCP_SYN | TCP_FIN));
}

/* All of a request of @size bytes, into @request; the queue of its last part */
static int expect_request(Guest *g, uint8_t *request, uint32_t size)
{
    uint32_t have = 0;
    int queue = -1;

    while (have < size) {
        uint32_t part;

        queue = receive_any(g, 100 * LATENCY_NS);
        g_assert_cmpint(queue, >=, 0);
        part = got_payload();
        if (!part) {
            continue;                   /* an ACK */
        }
        g_assert_cmphex(ldl_be_p(got.data + 38), ==, g->ack);
        g_assert_cmpuint(have + part, <=, size);
        memcpy(request + have, got.data + got.len - part, part);
        have += part;
        g->ack += part;
    }
    return queue;
}

static void test_echo(void)
{
    uint8_t request[64], second[64];
    Guest g;
    int queue;

    start(&g, "", 0, PAIRS);
    post_buffers(&g);
    say(&g, "begin\n");
    expect_syn(&g);
    send_tcp(&g, 2, TCP_SYN | TCP_ACK, NULL, 0);
    queue = expect_request(&g, request, 64);
    g_assert_cmpint(queue, ==, 2);
    send_tcp(&g, 2, TCP_ACK, request, 64);
    expect_request(&g, second, 64);
    g_assert_cmpint(memcmp(request, second, 64), !=, 0);
    send_tcp(&g, 2, TCP_ACK, second, 64);
    drain(&g);
    say(&g, "end\n");
    end_run(&g);
    g_assert_cmpuint(result(&g, "requests"), ==, 2);
    g_assert_cmpuint(result(&g, "bytes"), ==, 128);
    g_assert_cmpuint(result(&g, "peer_connects"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_connections"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_bad_frames"), ==, 0);
    g_assert_cmpuint(result(&g, "peer_payload_errors"), ==, 0);
    /* ARP; SYN-ACK and two replies */
    g_assert_cmpuint(result(&g, "peer_rx_packets_q0"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_rx_packets_q2"), ==, 3);
    stop(&g);
}

/* Each packet of the guest moves the flow to the queue that it came from */
static void test_steering(void)
{
    uint8_t request[64];
    Guest g;

    start(&g, "", 0, PAIRS);
    post_buffers(&g);
    expect_syn(&g);
    send_tcp(&g, 0, TCP_SYN | TCP_ACK, NULL, 0);
    for (int i = 0; i < 12; i++) {
        g_assert_cmpint(expect_request(&g, request, 64), ==, i * 3 % PAIRS);
        send_tcp(&g, (i + 1) * 3 % PAIRS, TCP_ACK, request, 64);
    }
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_payload_errors"), ==, 0);
    g_assert_cmpuint(result(&g, "peer_requests_in_all"), >=, 11);
    stop(&g);
}

/* A guest that uses two pairs gets everything on these */
static void test_fewer_queues(void)
{
    unsigned hits[PAIRS] = {};
    Guest g;
    int queue;

    start(&g, ",connections=40", 0, 2);
    post_buffers(&g);
    expect_syn(&g);
    while ((queue = receive_any(&g, 100 * LATENCY_NS)) >= 0) {
        g_assert_cmpint(got_flags(), ==, TCP_SYN);
        hits[queue]++;
    }
    g_assert_cmpuint(hits[0] + hits[1], ==, 39);
    g_assert_cmpuint(hits[0], >, 8);
    g_assert_cmpuint(hits[1], >, 8);
    stop(&g);
}

/* 20,000 bytes in one frame each way */
static void test_large(void)
{
    static uint8_t request[20000];
    uint32_t first = 10 * 1460;         /* the congestion window */
    Guest g;

    start(&g, ",message-size=20000", 0, PAIRS);
    post_buffers(&g);
    expect_syn(&g);
    send_tcp(&g, 1, TCP_SYN | TCP_ACK, NULL, 0);

    do {
        g_assert_cmpint(receive_any(&g, 100 * LATENCY_NS), ==, 1);
    } while (!got_payload());
    g_assert_cmpuint(got_payload(), ==, first);
    g_assert_cmpuint(got.hdr.flags, ==, VIRTIO_NET_HDR_F_NEEDS_CSUM);
    g_assert_cmpuint(got.hdr.csum_start, ==, 34);
    g_assert_cmpuint(got.hdr.csum_offset, ==, 16);
    g_assert_cmpuint(got.hdr.gso_type, ==, VIRTIO_NET_HDR_GSO_TCPV4);
    g_assert_cmpuint(got.hdr.gso_size, ==, 1460);
    g_assert_cmpuint(got.hdr.hdr_len, ==, 54);
    memcpy(request, got.data + 54, first);
    g.ack += first;
    send_tcp(&g, 1, TCP_ACK, NULL, 0);
    expect_request(&g, request + first, 20000 - first);

    send_tcp(&g, 1, TCP_ACK | TCP_PSH, request, 20000);
    qtest_clock_step(g.qts, 2 * LATENCY_NS);
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_requests_in_all"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_payload_errors"), ==, 0);
    g_assert_cmpuint(result(&g, "peer_bad_frames"), ==, 0);
    stop(&g);
}

/* A guest without offloads gets small frames with good checksums */
static void test_no_offloads(void)
{
    uint32_t have = 0;
    Guest g;

    start(&g, ",message-size=8000", OFFLOADS, PAIRS);
    post_buffers(&g);
    expect_syn(&g);
    send_tcp(&g, 1, TCP_SYN | TCP_ACK, NULL, 0);
    while (have < 8000) {
        g_assert_cmpint(receive_any(&g, 100 * LATENCY_NS), ==, 1);
        g_assert_cmpuint(got.len, <=, 1514);
        g_assert_cmpuint(got.hdr.flags, ==, 0);
        g_assert_cmpuint(got.hdr.gso_type, ==, 0);
        g_assert_cmphex(net_raw_checksum(got.data + 14, 20), ==, 0);
        g_assert_cmphex(net_checksum_tcpudp(got.len - 34, 6, got.data + 26,
                                            got.data + 34), ==, 0);
        have += got_payload();
    }
    stop(&g);
}

/* Frames wait for buffers, in order, and a garbled one is found out */
static void test_no_buffers(void)
{
    uint8_t request[64];
    Guest g;

    start(&g, "", 0, PAIRS);
    for (unsigned q = 0; q < PAIRS; q++) {
        g.rx_buffer[q][0] = guest_alloc(&g.alloc, BUFFER);
    }
    say(&g, "ready 7000\n");
    arp_reply(&g, 0);
    qtest_clock_step(g.qts, 200 * MS);
    g_assert_cmpint(receive_any(&g, 0), ==, -1);
    for (unsigned q = 0; q < PAIRS; q++) {
        post_buffer(&g, q, 0);
    }
    do {
        g_assert_cmpint(receive_any(&g, MS), >=, 0);
    } while (lduw_be_p(got.data + 12) == 0x0806);
    g_assert_cmpint(got_flags(), ==, TCP_SYN);
    g.port = lduw_be_p(got.data + 34);
    g.seq = 77;
    g.ack = ldl_be_p(got.data + 38) + 1;
    send_tcp(&g, 3, TCP_SYN | TCP_ACK, NULL, 0);
    g_assert_cmpint(expect_request(&g, request, 64), ==, 3);
    request[40] ^= 0x80;
    send_tcp(&g, 3, TCP_ACK, request, 64);
    do {
        g_assert_cmpint(receive_any(&g, MS), ==, 3);
    } while (!(got_flags() & TCP_RST));
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_payload_errors"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_connections"), ==, 0);
    stop(&g);
}

/* A guest that sends faster than the link waits, and nothing is lost */
static void test_slow_link(void)
{
    enum { FRAMES = 30, PAYLOAD = 60000 };
    unsigned taken = 0;
    uint64_t buffer;
    Guest g;

    /* 60,000 bytes take about 5 ms; the device takes a mebibyte ahead */
    start(&g, ",link-rate-bps=100000000", 0, PAIRS);
    post_buffers(&g);
    arp_reply(&g, 1);
    g.port = 20000;
    memset(&sent.hdr, 0, sizeof(sent.hdr));
    sent.len = guest_tcp(sent.data, 20000, SERVER_PORT, 1, 1, TCP_ACK, NULL,
                         PAYLOAD);
    sent.hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
    sent.hdr.csum_start = 34;
    sent.hdr.csum_offset = 16;
    sent.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
    sent.hdr.gso_size = 1460;
    buffer = guest_alloc(&g.alloc, BUFFER);
    qtest_memwrite(g.qts, buffer, &sent.hdr, sizeof(sent.hdr));
    qtest_memwrite(g.qts, buffer + HDR, sent.data, sent.len);
    for (int i = 0; i < FRAMES; i++) {
        uint32_t head = qvirtqueue_add(g.qts, g.tx[1], buffer, HDR + sent.len,
                                       false, false);

        qvirtqueue_kick(g.qts, g.dev, g.tx[1], head);
    }
    /* with their headers, 17 frames are more than a mebibyte */
    for (int i = 0; i < 200 && taken < 17; i++) {
        taken += qvirtqueue_get_buf(g.qts, g.tx[1], NULL, NULL);
        g_usleep(1000);
    }
    for (int i = 0; i < 20; i++) {
        g_assert_false(qvirtqueue_get_buf(g.qts, g.tx[1], NULL, NULL));
        g_usleep(1000);
    }
    g_assert_cmpuint(taken, ==, 17);

    for (int i = 0; i < 300 && taken < FRAMES; i++) {
        qtest_clock_step(g.qts, MS);
        taken += qvirtqueue_get_buf(g.qts, g.tx[1], NULL, NULL);
    }
    g_assert_cmpuint(taken, ==, FRAMES);
    qtest_clock_step(g.qts, 500 * MS);
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_rx_packets_q1"), ==, FRAMES + 1);
    g_assert_cmpuint(result(&g, "peer_bad_frames"), ==, 0);
    g_assert_cmpuint(result(&g, "peer_link_drops"), ==, 0);
    /* each is answered: there is no such connection */
    g_assert_cmpuint(result(&g, "peer_tx_packets_q1"), ==, BUFFERS);
    stop(&g);
}

static void test_ping(void)
{
    Guest g;

    start(&g, "", 0, PAIRS);
    post_buffers(&g);
    arp_reply(&g, 1);
    memset(&sent.hdr, 0, sizeof(sent.hdr));
    sent.len = guest_tcp(sent.data, 1, 1, 0, 0, 0, NULL, 36);
    sent.data[23] = 1;
    memset(sent.data + 34, 0x11, 56);
    stl_be_p(sent.data + 34, 0x08000000);
    stw_be_p(sent.data + 36, net_raw_checksum(sent.data + 34, 56));
    guest_ip_checksum(sent.data);
    send_frame(&g, 1);
    g_assert_cmpint(receive_any(&g, MS), ==, 1);
    g_assert_cmpuint(got.len, ==, sent.len);
    g_assert_cmpuint(got.data[23], ==, 1);
    g_assert_cmpuint(got.data[34], ==, 0);
    g_assert_cmphex(net_raw_checksum(got.data + 34, 56), ==, 0);
    g_assert_cmphex(net_raw_checksum(got.data + 14, 20), ==, 0);
    g_assert_cmpint(memcmp(got.data + 38, sent.data + 38, 52), ==, 0);
    stop(&g);
}

/* What must not be sent is counted, and the connection goes on */
static void test_malformed(void)
{
    static uint8_t huge[BUFFER];
    uint8_t request[64];
    unsigned bad = 0;
    Guest g;

    start(&g, "", 0, PAIRS);
    post_buffers(&g);
    expect_syn(&g);
    send_tcp(&g, 1, TCP_SYN | TCP_ACK, NULL, 0);
    expect_request(&g, request, 64);

    /* nothing behind the header, and less than an Ethernet header */
    memset(huge, 0, sizeof(huge));
    send_raw(&g, 0, huge, HDR);
    send_raw(&g, 0, huge, HDR + 13);
    /* larger than any IP packet */
    send_raw(&g, 0, huge, HDR + 65535 + 15);
    bad += 3;

    /* headers that lie, around a good frame */
    for (int i = 0; i < 6; i++) {
        struct virtio_net_hdr lies[] = {
            { .flags = 1, .csum_start = 65535, .csum_offset = 65535 },
            { .flags = 1, .csum_start = 34, .csum_offset = 600 },
            { .flags = 1, .csum_start = 34, .csum_offset = 16,
              .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 0 },
            { .flags = 0, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
              .gso_size = 1 },
            { .flags = 1, .csum_start = 34, .csum_offset = 16, .gso_size = 1,
              .gso_type = VIRTIO_NET_HDR_GSO_UDP },
            { .hdr_len = 65535 },
        };

        sent.len = guest_tcp(sent.data, g.port, SERVER_PORT, g.seq, g.ack,
                             TCP_ACK, request, 64);
        sent.hdr = lies[i];
        send_frame(&g, i % PAIRS);
        bad++;
    }

    /* larger than the MTU, and not to be cut */
    memset(&sent.hdr, 0, sizeof(sent.hdr));
    sent.len = guest_tcp(sent.data, g.port, SERVER_PORT, g.seq, g.ack, TCP_ACK,
                         NULL, 1461);
    send_frame(&g, 0);
    bad++;
    /* IP and TCP headers that end outside the frame */
    sent.len = guest_tcp(sent.data, g.port, SERVER_PORT, g.seq, g.ack, TCP_ACK,
                         request, 64);
    sent.data[14] = 0x4f;
    sent.len = 40;
    send_frame(&g, 0);
    sent.len = guest_tcp(sent.data, g.port, SERVER_PORT, g.seq, g.ack, TCP_ACK,
                         NULL, 0);
    sent.data[46] = 0xf0;
    send_frame(&g, 0);
    bad += 2;
    /* ARP that stops in the middle */
    memset(sent.data, 0xff, 12);
    stw_be_p(sent.data + 12, 0x0806);
    sent.len = 30;
    send_frame(&g, 0);
    bad++;
    /* a checksum that is wrong */
    sent.len = guest_tcp(sent.data, g.port, SERVER_PORT, g.seq, g.ack, TCP_ACK,
                         request, 64);
    sent.data[60] ^= 1;
    send_frame(&g, 0);

    drain(&g);
    send_tcp(&g, 1, TCP_ACK, request, 64);
    expect_request(&g, request, 64);
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_bad_frames"), ==, bad);
    g_assert_cmpuint(result(&g, "peer_checksum_errors"), ==, 1);
    g_assert_cmpuint(result(&g, "peer_payload_errors"), ==, 0);
    g_assert_cmpuint(result(&g, "peer_stack_faults"), ==, 0);
    stop(&g);
}

/* Random frames on all queues: QEMU is still there */
static void test_random(void)
{
    Guest g;

    start(&g, ",connections=4,message-size=3000", 0, PAIRS);
    post_buffers(&g);
    expect_syn(&g);
    send_tcp(&g, 1, TCP_SYN | TCP_ACK, NULL, 0);
    drain(&g);
    for (int i = 0; i < 1000; i++) {
        uint32_t len = g_test_rand_int_range(0, 400);
        uint8_t bytes[HDR + 600] = {};

        guest_tcp(bytes + HDR, g.port, SERVER_PORT, g.seq, g.ack, TCP_ACK,
                  NULL, len);
        if (g_test_rand_bit()) {
            bytes[0] = 1;
            bytes[6] = 34;
            bytes[8] = 16;
        }
        for (int j = g_test_rand_int_range(0, 8); j; j--) {
            bytes[g_test_rand_int_range(0, HDR + 54)] =
                g_test_rand_int_range(0, 256);
        }
        send_raw(&g, i % PAIRS, bytes,
                 HDR + g_test_rand_int_range(0, 54 + len + 1));
    }
    drain(&g);
    end_run(&g);
    g_assert_cmpuint(result(&g, "peer_bad_frames"), >, 100);
    stop(&g);
}

/* The device is reset while frames wait for it, and used again */
static void test_reset(void)
{
    Guest g;

    start(&g, ",connections=20", 0, PAIRS);
    say(&g, "ready 7000\n");
    arp_reply(&g, 0);
    qtest_clock_step(g.qts, MS);        /* SYNs are waiting */
    qvirtio_reset(g.dev);
    qtest_clock_step(g.qts, MS);
    start_nic(&g, 0, PAIRS);
    post_buffers(&g);
    /* they come again when TCP's timer says so */
    qtest_clock_step(g.qts, 2000 * MS);
    g_assert_cmpint(receive_any(&g, MS), >=, 0);
    stop(&g);
}

/* Options that cannot be are refused with a reason */
static void test_options(void)
{
    static const struct {
        const char *options;
        const char *reason;
    } bad[] = {
        { "queues=0", "queues must be 1 to 16" },
        { "queues=17", "queues must be 1 to 16" },
        { "connections=0", "connections must be 1 to 50000" },
        { "connections=4,group=5", "group must be 0 to 4" },
        { "connections=50001", "connections must be 1 to 50000" },
        { "depth=1025", "depth must be 1 to 1024" },
        { "connections=50000,depth=1000", "connections x depth" },
        { "message-size=0", "message-size must be 1 to 16777216" },
        { "message-size=1G", "message-size must be" },
        { "think-ns=1000000000001", "think-ns must be" },
        { "think-dist=normal", "does not accept value 'normal'" },
        { "link-rate-bps=1000", "link-rate-bps must be" },
        { "link-latency-ns=1000000001", "link-latency-ns must be" },
        { "peer-ip=10.0.2", "peer-ip must be an IPv4 address" },
        { "guest-ip=224.0.0.1", "guest-ip must be an IPv4 address" },
        { "guest-ip=10.0.2.2", "are the same" },
        { "seed=x", "seed" },
    };
    const char *qemu = g_getenv("QTEST_QEMU_BINARY");

    for (int i = 0; i < ARRAY_SIZE(bad); i++) {
        g_autofree char *netdev = g_strdup_printf("ringstep,id=n0,%s",
                                                  bad[i].options);
        const char *argv[] = {
            qemu, "-machine", "none,accel=qtest", "-nodefaults", "-display",
            "none", "-netdev", netdev, NULL
        };
        g_autofree char *err = NULL;
        int status;

        g_assert_true(g_spawn_sync(NULL, (char **)argv, NULL,
                                   G_SPAWN_DEFAULT, NULL, NULL, NULL, &err,
                                   &status, NULL));
        g_test_message("%s: %s", bad[i].options, err);
        g_assert_cmpint(WEXITSTATUS(status), ==, 1);
        g_assert_nonnull(strstr(err, bad[i].reason));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    qtest_add_func("/net/peer/echo", test_echo);
    qtest_add_func("/net/peer/steering", test_steering);
    qtest_add_func("/net/peer/fewer-queues", test_fewer_queues);
    qtest_add_func("/net/peer/large", test_large);
    qtest_add_func("/net/peer/no-offloads", test_no_offloads);
    qtest_add_func("/net/peer/no-buffers", test_no_buffers);
    qtest_add_func("/net/peer/slow-link", test_slow_link);
    qtest_add_func("/net/peer/ping", test_ping);
    qtest_add_func("/net/peer/malformed", test_malformed);
    qtest_add_func("/net/peer/random", test_random);
    qtest_add_func("/net/peer/reset", test_reset);
    qtest_add_func("/net/peer/options", test_options);
    return g_test_run();
}
