/*
 * The network backend "ringstep": simulated TCP client machines behind a NIC
 * of QEMU's, in QEMU's process, on the virtual clock.
 *
 *   -netdev ringstep,id=n0,queues=4,connections=8,message-size=2000
 *   -device virtio-net-pci,netdev=n0,mq=on,vectors=10
 *
 * The options are described in qapi/net.json (NetdevRingstepOptions).  This
 * file joins the parts: events.c (what happens later), link.c (the wire),
 * steering.c (which queue pair), ether.c (frames and offloads), stack.c
 * (TCP/IP), clients.c (the load), measure.c (the window).
 *
 *   guest --receive_iov--> to_peer link --> ether.c --> stack.c --> clients.c
 *   guest <--send_packet-- queue <-- steering.c <-- to_guest link <-- stack.c
 *
 * Everything runs under the BQL, in device accesses and in one timer on the
 * virtual clock.
 *
 * Results (see ringstep/ctl/results.h), when the window ends or, without one,
 * at the end of the run:
 *   metric requests, bytes, window_ns   complete in the window
 *   counter peer_rx_packets_qN, peer_tx_packets_qN, peer_rx_bytes,
 *           peer_tx_bytes               of the window; rx: from the guest; a
 *                                       large segment is one packet
 *   counter peer_...                    of the whole run so far, see report()
 *   latency.bin                         of each of the requests, in ns, 64 bits
 *                                       little endian, by order of completion
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <arpa/inet.h>
#include "qapi/error.h"
#include "qapi/qapi-types-net.h"
#include "qemu/error-report.h"
#include "qemu/iov.h"
#include "qemu/timer.h"
#include "migration/blocker.h"
#include "net/net.h"
#include "net/clients.h"                /* QEMU's own */
#include "ringstep/ctl/marks.h"
#include "ringstep/ctl/results.h"
#include "ringstep/net/clients.h"
#include "ringstep/net/ether.h"
#include "ringstep/net/events.h"
#include "ringstep/net/link.h"
#include "ringstep/net/measure.h"
#include "ringstep/net/stack.h"
#include "ringstep/net/steering.h"

#define NS_PER_MS          1000000LL
#define NS_PER_S           1000000000ULL

#define MAX_LATENCY_NS     (1 * NS_PER_S)
#define MAX_SERVICE_NS     (10 * NS_PER_S)
#define MAX_SPREAD_NS      (100 * NS_PER_S)
#define MIN_RATE_BPS       1000000ULL
#define MAX_RATE_BPS       10000000000000ULL

#define DEFAULT_SPREAD_NS  (10 * NS_PER_MS)
#define DEFAULT_MESSAGE    64

/* Frames that wait for receive buffers of the guest, for each queue pair */
#define QUEUE_MAX_FRAMES   4096
#define QUEUE_MAX_BYTES    (16 * 1024 * 1024)
/* What the guest may send ahead of the link before its queues stop */
#define AHEAD_BYTES        (1024 * 1024)

#define ARP_RETRY_NS       (100 * NS_PER_MS)

typedef struct Peer Peer;

typedef struct QueueStats {
    uint64_t rx_packets;                /* from the guest */
    uint64_t tx_packets;                /* to the guest */
    uint64_t rx_bytes;
    uint64_t tx_bytes;
} QueueStats;

typedef struct PeerQueue {
    NetClientState nc;
    Peer *peer;
    QueueStats stats;
    /* To the guest */
    QSIMPLEQ_HEAD(, PeerFrame) frames;
    uint32_t frame_count;
    uint64_t frame_bytes;
    bool blocked;                       /* QEMU holds a frame of ours */
    PeerEvent pump;
    /* From the guest */
    bool stalled;                       /* QEMU holds a frame of the guest's */
    bool vnet_hdr;                      /* frames have a header */
} PeerQueue;

struct Peer {
    PeerQueue *queues[PEER_MAX_QUEUES];
    unsigned queue_count;
    unsigned queues_alive;
    QEMUTimer *timer;
    PeerEvents *evs;
    PeerLink to_peer;
    PeerLink to_guest;
    int64_t ahead_ns;                   /* AHEAD_BYTES on the link */
    PeerEvent resume;
    PeerEvent tick;
    PeerEvent arp_retry;
    PeerEvent window_end;
    PeerSteering steering;
    PeerAddresses addr;
    PeerMeasure measure;
    PeerClients *clients;
    Notifier marks;
    Error *blocker;                     /* of snapshots */
    uint16_t server_port;               /* 0: the guest is not ready */
    bool csum;                          /* offloads that the guest takes */
    bool gso;
    bool reported;
    uint64_t bad_frames;
    uint64_t checksum_errors;
    uint64_t ignored_frames;
    uint64_t queue_drops;
    QueueStats at_begin[PEER_MAX_QUEUES];
};

/* lwIP's state is global: there is one peer */
static Peer *the_peer;

/* Time */

static int64_t clock_get(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void clock_arm(void *opaque, int64_t time_ns)
{
    Peer *peer = opaque;

    timer_mod(peer->timer, time_ns);
}

static void timer_fired(void *opaque)
{
    Peer *peer = opaque;

    peer_events_run(peer->evs);
}

static void tick_fired(PeerEvent *ev)
{
    Peer *peer = container_of(ev, Peer, tick);

    peer_event_at(peer->evs, ev,
                  peer_now(peer->evs) + PEER_STACK_TICK_MS * NS_PER_MS);
    peer_stack_tick();
}

/* To the guest */

static void queue_drop(PeerQueue *q, PeerFrame *frame)
{
    q->peer->queue_drops++;
    peer_frame_free(frame);
}

static void queue_unblocked(NetClientState *nc, ssize_t len)
{
    PeerQueue *q = DO_UPCAST(PeerQueue, nc, nc);

    q->blocked = false;
    if (len > 0) {
        q->stats.tx_packets++;
        q->stats.tx_bytes += len - nc->vnet_hdr_len;
    } else {
        q->peer->queue_drops++;
    }
    /* Not from here: this is called from the middle of QEMU's own queue */
    if (!peer_event_pending(&q->pump)) {
        peer_event_at(q->peer->evs, &q->pump, peer_now(q->peer->evs));
    }
}

static void queue_send(PeerQueue *q)
{
    Peer *peer = q->peer;

    while (!q->blocked && !QSIMPLEQ_EMPTY(&q->frames)) {
        PeerFrame *frame = QSIMPLEQ_FIRST(&q->frames);
        uint32_t hdr_len = q->vnet_hdr ? q->nc.vnet_hdr_len : 0;
        uint8_t *start;
        ssize_t ret;

        QSIMPLEQ_REMOVE_HEAD(&q->frames, next);
        q->frame_count--;
        q->frame_bytes -= frame->len;
        if (frame->gso_size && !peer->gso) {
            queue_drop(q, frame);       /* the guest has changed its mind */
            continue;
        }
        start = peer_ether_finish(frame, hdr_len, peer->csum);
        ret = qemu_send_packet_async(&q->nc, start, hdr_len + frame->len,
                                     queue_unblocked);
        if (ret == 0) {
            q->blocked = true;
        } else if (ret < 0) {
            queue_drop(q, frame);
            continue;
        } else {
            q->stats.tx_packets++;
            q->stats.tx_bytes += frame->len;
        }
        peer_frame_free(frame);
    }
}

static void queue_pump(PeerEvent *ev)
{
    queue_send(container_of(ev, PeerQueue, pump));
}

/* The queue pairs that the guest has set up */
static uint32_t usable_queues(Peer *peer)
{
    uint32_t usable = 0;

    for (unsigned i = 0; i < peer->queue_count; i++) {
        NetClientState *nic = peer->queues[i]->nc.peer;

        if (nic && (!nic->info->can_receive || nic->info->can_receive(nic))) {
            usable |= 1U << i;
        }
    }
    return usable;
}

static void deliver_to_guest(PeerLink *link, PeerFrame *frame)
{
    Peer *peer = container_of(link, Peer, to_guest);
    PeerQueue *q = peer->queues[peer_steering_pick(&peer->steering,
                                                   frame->flow,
                                                   usable_queues(peer))];

    if (q->frame_count >= QUEUE_MAX_FRAMES ||
        q->frame_bytes + frame->len > QUEUE_MAX_BYTES) {
        queue_drop(q, frame);
        return;
    }
    QSIMPLEQ_INSERT_TAIL(&q->frames, frame, next);
    q->frame_count++;
    q->frame_bytes += frame->len;
    queue_send(q);
}

static void stack_output(void *opaque, PeerFrame *frame)
{
    Peer *peer = opaque;

    peer_ether_address(&peer->addr, frame);
    peer_link_send(&peer->to_guest, frame);
}

/* From the guest */

static void start_clients(Peer *peer)
{
    peer_event_cancel(peer->evs, &peer->arp_retry);
    peer_clients_start(peer->clients, peer->server_port);
    peer_event_at(peer->evs, &peer->tick,
                  peer_now(peer->evs) + PEER_STACK_TICK_MS * NS_PER_MS);
}

static void input_arp(Peer *peer, PeerFrame *frame)
{
    bool bad;
    PeerFrame *reply = peer_arp_input(&peer->addr, frame, &bad);

    peer->bad_frames += bad;
    if (reply) {
        peer_link_send(&peer->to_guest, reply);
    }
    if (peer->addr.guest_mac_known && peer->server_port &&
        !peer_clients_started(peer->clients)) {
        start_clients(peer);
    }
}

static void deliver_to_peer(PeerLink *link, PeerFrame *frame)
{
    Peer *peer = container_of(link, Peer, to_peer);

    if (frame->is_arp) {
        input_arp(peer, frame);
        peer_frame_free(frame);
    } else {
        peer_stack_input(frame);
    }
}

static void resume_queues(PeerEvent *ev)
{
    Peer *peer = container_of(ev, Peer, resume);

    for (unsigned i = 0; i < peer->queue_count; i++) {
        PeerQueue *q = peer->queues[i];

        if (q->stalled) {
            q->stalled = false;
            qemu_flush_queued_packets(&q->nc);
        }
    }
}

/* Has the guest sent so much that it must wait for the link? */
static bool stall_queue(PeerQueue *q)
{
    Peer *peer = q->peer;
    int64_t ahead_ns;

    if (!peer->ahead_ns) {
        return false;
    }
    ahead_ns = peer_link_free_ns(&peer->to_peer) - peer_now(peer->evs);
    if (ahead_ns <= peer->ahead_ns) {
        return false;
    }
    q->stalled = true;
    if (!peer_event_pending(&peer->resume)) {
        peer_event_at(peer->evs, &peer->resume, peer_now(peer->evs) +
                      ahead_ns - peer->ahead_ns / 2);
    }
    return true;
}

static ssize_t queue_receive_iov(NetClientState *nc, const struct iovec *iov,
                                 int iovcnt)
{
    PeerQueue *q = DO_UPCAST(PeerQueue, nc, nc);
    Peer *peer = q->peer;
    size_t size = iov_size(iov, iovcnt);
    size_t hdr_len = q->vnet_hdr ? nc->vnet_hdr_len : 0;
    struct virtio_net_hdr hdr = {};
    PeerVerdict verdict;
    PeerFrame *frame;

    if (stall_queue(q)) {
        return 0;
    }
    if (size < hdr_len + PEER_ETH_HLEN ||
        size - hdr_len > PEER_ETH_HLEN + PEER_IP_MAX) {
        peer->bad_frames++;
        return size;
    }

    frame = peer_frame_new(size - hdr_len);
    iov_to_buf(iov, iovcnt, hdr_len, frame->data, frame->len);
    if (hdr_len) {
        iov_to_buf(iov, iovcnt, 0, &hdr, sizeof(hdr));
    }
    q->stats.rx_packets++;
    q->stats.rx_bytes += frame->len;

    verdict = peer_ether_check(&peer->addr, frame, hdr_len ? &hdr : NULL);
    switch (verdict) {
    case PEER_FRAME_IP:
    case PEER_FRAME_ARP:
        frame->is_arp = verdict == PEER_FRAME_ARP;
        peer_steering_learn(&peer->steering, frame->flow, nc->queue_index);
        peer_link_send(&peer->to_peer, frame);
        return size;
    case PEER_FRAME_BAD:
        peer->bad_frames++;
        break;
    case PEER_FRAME_BAD_CHECKSUM:
        peer->checksum_errors++;
        break;
    case PEER_FRAME_IGNORED:
        peer->ignored_frames++;
        break;
    }
    peer_frame_free(frame);
    return size;
}

static ssize_t queue_receive(NetClientState *nc, const uint8_t *buf,
                             size_t size)
{
    struct iovec iov = { .iov_base = (void *)buf, .iov_len = size };

    return queue_receive_iov(nc, &iov, 1);
}

/* Marks and results */

static void report_queues(Peer *peer)
{
    uint64_t rx_bytes = 0, tx_bytes = 0;

    for (unsigned i = 0; i < peer->queue_count; i++) {
        const QueueStats *from = &peer->at_begin[i];
        const QueueStats *to = &peer->queues[i]->stats;
        g_autofree char *rx = g_strdup_printf("peer_rx_packets_q%u", i);
        g_autofree char *tx = g_strdup_printf("peer_tx_packets_q%u", i);

        ringstep_result_add("counter", rx, to->rx_packets - from->rx_packets);
        ringstep_result_add("counter", tx, to->tx_packets - from->tx_packets);
        rx_bytes += to->rx_bytes - from->rx_bytes;
        tx_bytes += to->tx_bytes - from->tx_bytes;
    }
    ringstep_result_add("counter", "peer_rx_bytes", rx_bytes);
    ringstep_result_add("counter", "peer_tx_bytes", tx_bytes);
}

/*
 * Packets and bytes are those of the window, if there is one (rx: from the
 * guest); the other counters are those of the whole run up to here.
 */
static void report(Peer *peer)
{
    const PeerStackStats *stack = peer_stack_stats();
    const PeerClientsStats *clients = peer_clients_stats(peer->clients);
    PeerMeasure *m = &peer->measure;
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        { "peer_connections", clients->open },
        { "peer_connects", clients->connected },
        { "peer_refused", clients->refused },
        { "peer_resets", clients->resets },
        { "peer_closes", clients->closes },
        { "peer_requests_in_all", clients->requests },
        { "peer_payload_errors", clients->payload_errors },
        { "peer_retransmits", stack->retransmits },
        { "peer_bad_frames", peer->bad_frames },
        { "peer_checksum_errors", peer->checksum_errors },
        { "peer_ignored_frames", peer->ignored_frames },
        { "peer_queue_drops", peer->queue_drops },
        { "peer_link_drops", peer->to_guest.drops + peer->to_peer.drops },
        { "peer_stack_faults", stack->faults },
    };

    if (peer->reported) {
        return;
    }
    peer->reported = true;
    peer_measure_end(m, peer_now(peer->evs));
    if (m->begun) {
        ringstep_result_add("metric", "requests", m->requests);
        ringstep_result_add("metric", "bytes", m->bytes);
        ringstep_result_add("metric", "window_ns", m->end_ns - m->begin_ns);
    }
    report_queues(peer);
    for (int i = 0; i < ARRAY_SIZE(counters); i++) {
        ringstep_result_add("counter", counters[i].name, counters[i].value);
    }
    if (m->begun) {
        peer_measure_to_le(m);
        ringstep_result_blob("latency.bin", m->latencies->data,
                             m->latencies->len * sizeof(uint64_t));
    }
    peer_clients_stop(peer->clients);
}

/* All that happens before the end of the window has happened */
static void window_ended(PeerEvent *ev)
{
    report(container_of(ev, Peer, window_end));
}

static void arp_request(PeerEvent *ev)
{
    Peer *peer = container_of(ev, Peer, arp_retry);

    peer_link_send(&peer->to_guest, peer_arp_request(&peer->addr));
    peer_event_at(peer->evs, ev, peer_now(peer->evs) + ARP_RETRY_NS);
}

static void guest_ready(Peer *peer, uint32_t port)
{
    if (peer->server_port || port == 0 || port > UINT16_MAX) {
        warn_report("ringstep peer: ready mark for port %" PRIu32 " ignored",
                    port);
        return;
    }
    peer->server_port = port;
    /* From here on there is state that no snapshot would hold */
    error_setg(&peer->blocker, "the ringstep peer's connections cannot be "
               "saved");
    migrate_add_blocker(&peer->blocker, NULL);
    if (peer->addr.guest_mac_known) {
        start_clients(peer);
    } else {
        arp_request(&peer->arp_retry);
    }
}

static void mark_notify(Notifier *notifier, void *data)
{
    Peer *peer = container_of(notifier, Peer, marks);
    const RingstepMarkEvent *event = data;

    switch (event->mark) {
    case RINGSTEP_MARK_READY:
        guest_ready(peer, event->arg);
        break;
    case RINGSTEP_MARK_BEGIN:
        if (!peer->measure.begun) {
            for (unsigned i = 0; i < peer->queue_count; i++) {
                peer->at_begin[i] = peer->queues[i]->stats;
            }
        }
        peer_measure_begin(&peer->measure, event->time_ns);
        break;
    case RINGSTEP_MARK_END:
        if (peer->measure.begun && !peer->measure.ended) {
            peer_measure_end(&peer->measure, event->time_ns);
            peer_event_at(peer->evs, &peer->window_end, event->time_ns);
        }
        break;
    case RINGSTEP_MARK_EXIT:
        report(peer);
        break;
    }
}

/* The network backend */

static bool queue_has_vnet_hdr(NetClientState *nc)
{
    return true;
}

static bool queue_has_vnet_hdr_len(NetClientState *nc, int len)
{
    return len >= (int)sizeof(struct virtio_net_hdr) && len <= PEER_VNET_ROOM;
}

static void queue_set_vnet_hdr_len(NetClientState *nc, int len)
{
    PeerQueue *q = DO_UPCAST(PeerQueue, nc, nc);

    q->vnet_hdr = true;                 /* its length is in nc */
}

static void queue_set_offload(NetClientState *nc, int csum, int tso4, int tso6,
                              int ecn, int ufo, int uso4, int uso6)
{
    Peer *peer = DO_UPCAST(PeerQueue, nc, nc)->peer;

    peer->csum = csum;
    peer->gso = csum && tso4;
    peer_stack_set_gso(peer->gso);
}

static void peer_free(Peer *peer)
{
    notifier_remove(&peer->marks);
    migrate_del_blocker(&peer->blocker);
    peer_clients_free(peer->clients);
    peer_stack_cleanup();
    peer_link_clear(&peer->to_guest);
    peer_link_clear(&peer->to_peer);
    peer_measure_cleanup(&peer->measure);
    timer_free(peer->timer);
    peer_events_free(peer->evs);
    g_free(peer);
    the_peer = NULL;
}

static void queue_cleanup(NetClientState *nc)
{
    PeerQueue *q = DO_UPCAST(PeerQueue, nc, nc);
    Peer *peer = q->peer;
    PeerFrame *frame;

    qemu_purge_queued_packets(nc);
    peer_event_cancel(peer->evs, &q->pump);
    while ((frame = QSIMPLEQ_FIRST(&q->frames))) {
        QSIMPLEQ_REMOVE_HEAD(&q->frames, next);
        peer_frame_free(frame);
    }
    if (--peer->queues_alive == 0) {
        peer_free(peer);
    }
}

static NetClientInfo ringstep_info = {
    .type = NET_CLIENT_DRIVER_RINGSTEP,
    .size = sizeof(PeerQueue),
    .receive = queue_receive,
    .receive_iov = queue_receive_iov,
    .cleanup = queue_cleanup,
    .has_vnet_hdr = queue_has_vnet_hdr,
    .has_vnet_hdr_len = queue_has_vnet_hdr_len,
    .set_vnet_hdr_len = queue_set_vnet_hdr_len,
    .set_offload = queue_set_offload,
};

typedef struct Settings {
    unsigned queues;
    uint64_t rate_bps;
    int64_t latency_ns;
    uint32_t peer_ip;
    uint32_t guest_ip;
    PeerClientsConfig clients;
} Settings;

static bool check_range(const char *name, uint64_t value, uint64_t min,
                        uint64_t max, Error **errp)
{
    if (value < min || value > max) {
        error_setg(errp, "ringstep: %s must be %" PRIu64 " to %" PRIu64
                   ", not %" PRIu64, name, min, max, value);
        return false;
    }
    return true;
}

static bool parse_ip(const char *name, const char *text, uint32_t *ip,
                     Error **errp)
{
    struct in_addr addr;
    uint8_t first;

    if (inet_pton(AF_INET, text, &addr) == 1) {
        first = ntohl(addr.s_addr) >> 24;
        if (first > 0 && first < 224 && first != 127) {
            *ip = addr.s_addr;
            return true;
        }
    }
    error_setg(errp, "ringstep: %s must be an IPv4 address of a machine, "
               "not '%s'", name, text);
    return false;
}

static bool read_options(const NetdevRingstepOptions *o, Settings *s,
                         Error **errp)
{
    uint64_t queues = o->has_queues ? o->queues : 1;
    uint64_t connections = o->has_connections ? o->connections : 1;
    uint64_t depth = o->has_depth ? o->depth : 1;
    uint64_t group = o->has_group ? o->group : 0;
    uint64_t size = o->has_message_size ? o->message_size : DEFAULT_MESSAGE;
    uint64_t think = o->has_think_ns ? o->think_ns : 0;
    uint64_t service = o->has_service_ns ? o->service_ns : 0;
    uint64_t rate = o->has_link_rate_bps ? o->link_rate_bps : 0;
    uint64_t latency = o->has_link_latency_ns ? o->link_latency_ns : 0;
    uint64_t spread = o->has_start_spread_ns ? o->start_spread_ns :
                      DEFAULT_SPREAD_NS;
    static const PeerProtocol protocols[RINGSTEP_PROTOCOL__MAX] = {
        [RINGSTEP_PROTOCOL_ECHO] = PEER_PROTOCOL_ECHO,
        [RINGSTEP_PROTOCOL_SINK] = PEER_PROTOCOL_SINK,
    };
    static const PeerThinkDist dists[RINGSTEP_THINK_DIST__MAX] = {
        [RINGSTEP_THINK_DIST_CONSTANT] = PEER_THINK_CONSTANT,
        [RINGSTEP_THINK_DIST_UNIFORM] = PEER_THINK_UNIFORM,
        [RINGSTEP_THINK_DIST_EXPONENTIAL] = PEER_THINK_EXPONENTIAL,
    };

    if (!check_range("queues", queues, 1, PEER_MAX_QUEUES, errp) ||
        !check_range("connections", connections, 1, PEER_MAX_CONNECTIONS,
                     errp) ||
        !check_range("depth", depth, 1, PEER_MAX_DEPTH, errp) ||
        !check_range("connections x depth", connections * depth, 1,
                     PEER_MAX_REQUESTS, errp) ||
        !check_range("group", group, 0, connections, errp) ||
        !check_range("message-size", size, 1, PEER_MAX_MESSAGE, errp) ||
        !check_range("think-ns", think, 0, PEER_THINK_MAX_NS, errp) ||
        !check_range("service-ns", service, 0, MAX_SERVICE_NS, errp) ||
        !check_range("link-latency-ns", latency, 0, MAX_LATENCY_NS, errp) ||
        !check_range("start-spread-ns", spread, 0, MAX_SPREAD_NS, errp) ||
        (rate && !check_range("link-rate-bps", rate, MIN_RATE_BPS,
                              MAX_RATE_BPS, errp)) ||
        !parse_ip("peer-ip", o->peer_ip ?: "10.0.2.2", &s->peer_ip, errp) ||
        !parse_ip("guest-ip", o->guest_ip ?: "10.0.2.15", &s->guest_ip,
                  errp)) {
        return false;
    }
    if (s->peer_ip == s->guest_ip) {
        error_setg(errp, "ringstep: peer-ip and guest-ip are the same");
        return false;
    }

    s->queues = queues;
    s->rate_bps = rate;
    s->latency_ns = latency;
    s->clients = (PeerClientsConfig) {
        .protocol = protocols[o->has_protocol ? o->protocol : 0],
        .connections = connections,
        .depth = depth,
        .group = group,
        .message_size = size,
        .think_ns = think,
        .think_dist = dists[o->has_think_dist ? o->think_dist : 0],
        .service_ns = service,
        .start_spread_ns = spread,
        .seed = o->has_seed ? o->seed : 1,
    };
    return true;
}

static Peer *peer_new(const Settings *s)
{
    static const uint8_t mac[ETH_ALEN] = { 0x52, 0x55, 0x0a, 0x00, 0x02, 0x02 };
    Peer *peer = g_new0(Peer, 1);
    PeerClock clock = {
        .get_ns = clock_get,
        .arm = clock_arm,
        .opaque = peer,
    };
    PeerStackConfig stack = {
        .seed = s->clients.seed,
        .peer_ip = s->peer_ip,
        .guest_ip = s->guest_ip,
        .output = stack_output,
        .opaque = peer,
    };

    peer->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_fired, peer);
    peer->evs = peer_events_new(&clock);
    peer->resume.func = resume_queues;
    peer->tick.func = tick_fired;
    peer->arp_retry.func = arp_request;
    peer->window_end.func = window_ended;
    peer_link_init(&peer->to_peer, peer->evs, s->rate_bps, s->latency_ns,
                   deliver_to_peer);
    peer_link_init(&peer->to_guest, peer->evs, s->rate_bps, s->latency_ns,
                   deliver_to_guest);
    if (s->rate_bps) {
        peer->ahead_ns = AHEAD_BYTES * 8 * NS_PER_S / s->rate_bps;
    }
    peer_steering_init(&peer->steering, s->clients.seed);
    memcpy(peer->addr.peer_mac, mac, ETH_ALEN);
    peer->addr.peer_ip = s->peer_ip;
    peer->addr.guest_ip = s->guest_ip;
    peer_measure_init(&peer->measure);
    stack.evs = peer->evs;
    peer_stack_init(&stack);
    peer->clients = peer_clients_new(&s->clients, peer->evs, &peer->measure);
    peer->marks.notify = mark_notify;
    ringstep_marks_subscribe(&peer->marks);
    return peer;
}

int net_init_ringstep(const Netdev *netdev, const char *name,
                      NetClientState *hub, Error **errp)
{
    Settings settings;
    Peer *peer;

    if (the_peer) {
        error_setg(errp, "ringstep: there can be one such network backend");
        return -1;
    }
    if (!read_options(&netdev->u.ringstep, &settings, errp)) {
        return -1;
    }
    if (hub && settings.queues > 1) {
        error_setg(errp, "ringstep: queues need -netdev");
        return -1;
    }

    peer = peer_new(&settings);
    the_peer = peer;
    peer->queue_count = settings.queues;
    peer->queues_alive = settings.queues;
    for (unsigned i = 0; i < settings.queues; i++) {
        NetClientState *nc = qemu_new_net_client(&ringstep_info, hub,
                                                 "ringstep", name);
        PeerQueue *q = DO_UPCAST(PeerQueue, nc, nc);

        nc->queue_index = i;
        qemu_set_info_str(nc, "connections=%" PRIu32 ",queue=%u",
                          settings.clients.connections, i);
        q->peer = peer;
        q->pump.func = queue_pump;
        QSIMPLEQ_INIT(&q->frames);
        peer->queues[i] = q;
    }
    return 0;
}
