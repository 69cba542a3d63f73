/*
 * The peer's TCP/IP: lwIP, on virtual time.
 *
 * lwIP finds the connection of a segment by a walk over all of them, which
 * thousands of connections would turn into most of the work.  So lwIP's list
 * of active connections is ours: each port of the peer has a list of its own
 * (of one connection, or none), and run_in_slot() makes it lwIP's for the time
 * of a call.  Only the timers, which visit every connection anyway, see all.
 *
 * An assertion of lwIP's that fails ends the call at once (peer_stack_fault()),
 * and the connection is given up: its memory stays allocated, and nothing
 * looks at it again.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include <setjmp.h>

#undef TCP_MSS                          /* <netinet/tcp.h> has another */
#include "lwip/init.h"
#include "lwip/inet_chksum.h"
#include "lwip/ip4.h"
#include "lwip/netif.h"
#include "lwip/pbuf.h"
#include "lwip/prot/tcp.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/sys.h"
#include "lwip/tcp.h"
#include "lwip-hooks.h"

#include "ringstep/net/stack.h"
#include "ringstep/net/steering.h"
#include "ringstep/net/think.h"

#define NS_PER_MS   1000000
#define PORTS       65536
/* Linux's initial congestion window; lwIP's own is 4,380 bytes */
#define INITIAL_SEGMENTS 10
#define ANY_HLEN    (IP_HLEN + 60)      /* IP header and any TCP header */

/* How long Linux delays an ACK, at least */
#define ACK_DELAY_NS (40LL * NS_PER_MS)

QEMU_BUILD_BUG_ON(PEER_STACK_TICK_MS != TCP_SLOW_INTERVAL);

typedef struct Slot {
    struct tcp_pcb *pcbs;
    uint32_t sent_to;           /* sequence number after all that was sent */
} Slot;

typedef struct InputPbuf {
    struct pbuf_custom custom;
    PeerFrame *frame;
} InputPbuf;

typedef void SlotFunc(void *arg);

static struct {
    PeerStackConfig config;
    PeerStackStats stats;
    struct netif netif;
    PeerRng rng;
    Slot *slots;                /* by port of the peer */
    uint32_t low, high;         /* the ports in use are in [low, high) */
    Slot *running;              /* slot of the call into lwIP, if any */
    sigjmp_buf fault;
    bool broken;                /* a timer failed: lwIP's lists are lost */
    bool gso;
    PeerFrame *merge;           /* segments collected for one frame */
    uint32_t merge_next_seq;
    bool initialized;
} stack;

/* The slot of what belongs to no connection, and of the timers */
static Slot no_slot;

/* lwIP's environment */

u32_t sys_now(void)
{
    return peer_now(stack.config.evs) / NS_PER_MS;
}

uint32_t peer_stack_rand(void)
{
    return peer_rng_next(&stack.rng) >> 32;
}

u32_t peer_stack_isn(const ip_addr_t *local_ip, u16_t local_port,
                     const ip_addr_t *remote_ip, u16_t remote_port)
{
    return peer_mix64(peer_mix64(stack.config.seed) + local_port);
}

void peer_stack_fault(const char *message, const char *file, int line)
{
    if (!stack.running) {
        error_report("lwIP: %s (%s:%d)", message, file, line);
        abort();
    }
    if (!stack.stats.faults++) {
        warn_report("lwIP: %s (%s:%d); connection given up",
                    message, file, line);
    }
    siglongjmp(stack.fault, 1);
}

/* To the guest */

static void merge_flush(void)
{
    PeerFrame *frame = stack.merge;
    struct ip_hdr *ip;
    uint32_t hlen;

    if (!frame) {
        return;
    }
    stack.merge = NULL;

    ip = (struct ip_hdr *)(frame->data + PEER_ETH_HLEN);
    IPH_LEN_SET(ip, lwip_htons(frame->len - PEER_ETH_HLEN));
    IPH_CHKSUM_SET(ip, 0);
    IPH_CHKSUM_SET(ip, inet_chksum(ip, IPH_HL_BYTES(ip)));

    hlen = PEER_ETH_HLEN + IPH_HL_BYTES(ip) + frame->tcp_hlen;
    if (frame->gso_size) {
        frame = peer_frame_trim(frame);
    }
    if (frame->len - hlen <= frame->gso_size) {
        frame->gso_size = 0;
    }
    frame->wire_bytes = peer_wire_bytes(hlen, frame->len - hlen,
                                        frame->gso_size);
    stack.config.output(stack.config.opaque, frame);
}

/* Whether the segment at @tcp can go into the frame that is being merged */
static bool merge_fits(const struct tcp_hdr *tcp, uint32_t payload)
{
    PeerFrame *frame = stack.merge;
    const struct tcp_hdr *first;
    uint32_t hlen = TCPH_HDRLEN_BYTES(tcp);

    if (!frame || !frame->gso_size || !payload ||
        payload > frame->gso_size ||
        frame->len + payload > PEER_ETH_HLEN + PEER_IP_MAX) {
        return false;
    }
    first = (struct tcp_hdr *)(frame->data + PEER_ETH_HLEN + IP_HLEN);
    return lwip_ntohl(tcp->seqno) == stack.merge_next_seq &&
           tcp->src == first->src && tcp->dest == first->dest &&
           tcp->ackno == first->ackno && tcp->wnd == first->wnd &&
           !(TCPH_FLAGS(tcp) & ~(TCP_ACK | TCP_PSH | TCP_FIN)) &&
           hlen == frame->tcp_hlen &&
           !memcmp(tcp + 1, first + 1, hlen - TCP_HLEN);
}

static void count_retransmit(const struct tcp_hdr *tcp, uint32_t payload)
{
    Slot *slot = &stack.slots[lwip_ntohs(tcp->src)];
    uint32_t seq = lwip_ntohl(tcp->seqno);
    uint32_t len = payload;

    if (TCPH_FLAGS(tcp) & TCP_RST) {
        return;
    }
    len += !!(TCPH_FLAGS(tcp) & TCP_SYN) + !!(TCPH_FLAGS(tcp) & TCP_FIN);
    if ((TCPH_FLAGS(tcp) & TCP_SYN) && slot->sent_to != seq + 1) {
        slot->sent_to = seq;            /* a new connection */
    }
    if (len && TCP_SEQ_LT(seq, slot->sent_to)) {
        stack.stats.retransmits++;
    }
    if (TCP_SEQ_GT(seq + len, slot->sent_to)) {
        slot->sent_to = seq + len;
    }
}

static err_t netif_output(struct netif *netif, struct pbuf *p,
                          const ip4_addr_t *ipaddr)
{
    uint8_t head[ANY_HLEN] QEMU_ALIGNED(4);
    const struct ip_hdr *ip = (struct ip_hdr *)head;
    struct tcp_hdr *tcp = (struct tcp_hdr *)(head + IP_HLEN);
    uint32_t len = p->tot_len;
    uint32_t hlen, payload, room;
    PeerFrame *frame;
    bool more;

    if (len < IP_HLEN || len > PEER_MTU) {
        stack.stats.drops++;
        return ERR_BUF;
    }
    pbuf_copy_partial(p, head, MIN(len, sizeof(head)), 0);

    if (IPH_PROTO(ip) != IP_PROTO_TCP || IPH_HL_BYTES(ip) != IP_HLEN ||
        len < IP_HLEN + TCP_HLEN) {
        merge_flush();
        frame = peer_frame_new(PEER_ETH_HLEN + len);
        pbuf_copy_partial(p, frame->data + PEER_ETH_HLEN, len, 0);
        frame->flow = PEER_FLOW_OTHER;
        stack.merge = frame;
        merge_flush();
        return ERR_OK;
    }

    hlen = IP_HLEN + TCPH_HDRLEN_BYTES(tcp);
    payload = len - hlen;
    count_retransmit(tcp, payload);

    if (merge_fits(tcp, payload)) {
        struct tcp_hdr *first;

        frame = stack.merge;
        first = (struct tcp_hdr *)(frame->data + PEER_ETH_HLEN + IP_HLEN);
        pbuf_copy_partial(p, frame->data + frame->len, payload, hlen);
        frame->len += payload;
        stack.merge_next_seq += payload;
        TCPH_SET_FLAG(first, TCPH_FLAGS(tcp));
        more = payload == frame->gso_size && TCPH_FLAGS(tcp) == TCP_ACK;
    } else {
        merge_flush();
        more = stack.gso && payload && TCPH_FLAGS(tcp) == TCP_ACK;
        room = PEER_ETH_HLEN + (more ? PEER_IP_MAX : len);
        frame = peer_frame_new(room);
        frame->len = PEER_ETH_HLEN + len;
        pbuf_copy_partial(p, frame->data + PEER_ETH_HLEN, len, 0);
        frame->flow = lwip_ntohs(tcp->src);
        frame->tcp_hlen = TCPH_HDRLEN_BYTES(tcp);
        frame->gso_size = more ? payload : 0;
        stack.merge = frame;
        stack.merge_next_seq = lwip_ntohl(tcp->seqno) + payload;
    }
    if (!more) {
        merge_flush();
    }
    return ERR_OK;
}

static err_t netif_begin(struct netif *netif)
{
    netif->output = netif_output;
    netif->mtu = PEER_MTU;
    netif->flags = NETIF_FLAG_UP | NETIF_FLAG_LINK_UP;
    netif->name[0] = 'r';
    netif->name[1] = 's';
    return ERR_OK;
}

/*
 * lwIP sends all the ACKs that it has delayed at once, when its fast timer
 * fires.  From thousands of connections that would be a burst such as no real
 * client sends, so that each connection has a timer of its own here, and
 * lwIP's fast timer is not used.
 */
static void update_delayed_ack(Slot *slot)
{
    struct tcp_pcb *pcb = slot->pcbs;
    PeerConn *conn = pcb ? pcb->callback_arg : NULL;

    if (!conn) {
        return;
    }
    if (!(pcb->flags & TF_ACK_DELAY)) {
        conn->ack_due_ns = 0;
    } else if (!conn->ack_due_ns) {
        conn->ack_due_ns = peer_now(stack.config.evs) + ACK_DELAY_NS;
        if (!peer_event_pending(&conn->ack_event)) {
            peer_event_at(stack.config.evs, &conn->ack_event,
                          conn->ack_due_ns);
        }
    }
}

/*
 * Call @func, which calls lwIP for the connection of @slot.  Within such a
 * call, upcalls get here again for the same slot.
 */
static void run_in_slot(Slot *slot, SlotFunc *func, void *arg)
{
    if (stack.broken) {
        return;
    }
    if (stack.running) {
        assert(stack.running == slot || stack.running == &no_slot);
        func(arg);
        return;
    }

    stack.running = slot;
    tcp_active_pcbs = slot->pcbs;
    slot->pcbs = NULL;
    if (sigsetjmp(stack.fault, 0) == 0) {
        func(arg);
        stack.running->pcbs = tcp_active_pcbs;
    }
    tcp_active_pcbs = NULL;
    stack.running = NULL;
    merge_flush();
    if (slot != &no_slot) {
        update_delayed_ack(slot);
    }
}

/* Connections */

static Slot *conn_slot(PeerConn *conn)
{
    return &stack.slots[conn->port];
}

static void conn_detach(PeerConn *conn)
{
    tcp_arg(conn->pcb, NULL);
    tcp_recv(conn->pcb, NULL);
    tcp_sent(conn->pcb, NULL);
    tcp_err(conn->pcb, NULL);
    conn->pcb = NULL;
}

static err_t conn_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    PeerConn *conn = arg;

    pcb->cwnd = INITIAL_SEGMENTS * pcb->mss;
    conn->ops->connected(conn);
    return conn->pcb ? ERR_OK : ERR_ABRT;
}

static err_t conn_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p,
                           err_t err)
{
    PeerConn *conn = arg;

    if (!p) {
        conn_detach(conn);
        tcp_close(pcb);
        conn->ops->ended(conn, PEER_CONN_CLOSED);
        return ERR_OK;
    }

    tcp_recved(pcb, p->tot_len);
    /*
     * More than a segment at once: acknowledge at once, as a receiver of the
     * segments would.  The guest may be waiting for it.
     */
    if (p->tot_len > pcb->mss) {
        tcp_ack_now(pcb);
    }
    for (struct pbuf *q = p; q && conn->pcb; q = q->next) {
        conn->ops->received(conn, q->payload, q->len);
    }
    pbuf_free(p);
    return conn->pcb ? ERR_OK : ERR_ABRT;
}

static err_t conn_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    PeerConn *conn = arg;

    conn->ops->writable(conn);
    return conn->pcb ? ERR_OK : ERR_ABRT;
}

static void conn_err(void *arg, err_t err)
{
    PeerConn *conn = arg;

    conn->pcb = NULL;           /* lwIP has freed it, or will */
    conn->ops->ended(conn, PEER_CONN_RESET);
}

static void do_ack(void *arg)
{
    struct tcp_pcb *pcb = arg;

    tcp_ack_now(pcb);
    tcp_output(pcb);
    tcp_clear_flags(pcb, TF_ACK_DELAY | TF_ACK_NOW);
}

static void ack_fired(PeerEvent *ev)
{
    PeerConn *conn = container_of(ev, PeerConn, ack_event);

    if (!conn->pcb || !conn->ack_due_ns) {
        return;
    }
    if (conn->ack_due_ns > peer_now(stack.config.evs)) {
        peer_event_at(stack.config.evs, ev, conn->ack_due_ns);
    } else {
        run_in_slot(conn_slot(conn), do_ack, conn->pcb);
    }
}

typedef struct OpenArgs {
    PeerConn *conn;
    uint16_t guest_port;
} OpenArgs;

static void do_open(void *arg)
{
    OpenArgs *args = arg;
    PeerConn *conn = args->conn;
    struct tcp_pcb *pcb = tcp_new();
    ip_addr_t local, remote;

    if (!pcb) {
        return;
    }
    ip_addr_set_ip4_u32(&local, stack.config.peer_ip);
    ip_addr_set_ip4_u32(&remote, stack.config.guest_ip);
    tcp_arg(pcb, conn);
    tcp_recv(pcb, conn_received);
    tcp_sent(pcb, conn_sent);
    tcp_err(pcb, conn_err);
    tcp_nagle_disable(pcb);
    conn->pcb = pcb;
    if (tcp_bind(pcb, &local, conn->port) != ERR_OK ||
        tcp_connect(pcb, &remote, args->guest_port,
                    conn_connected) != ERR_OK) {
        conn_detach(conn);
        tcp_abort(pcb);
    }
}

bool peer_conn_open(PeerConn *conn, uint16_t peer_port, uint16_t guest_port)
{
    OpenArgs args = { .conn = conn, .guest_port = guest_port };

    assert(!conn->pcb && peer_port && !stack.running);
    conn->port = peer_port;
    conn->ack_due_ns = 0;
    conn->ack_event.func = ack_fired;
    if (conn_slot(conn)->pcbs) {
        return false;           /* an earlier connection is still closing */
    }
    if (stack.low == stack.high) {
        stack.low = peer_port;
        stack.high = peer_port + 1;
    }
    stack.low = MIN(stack.low, peer_port);
    stack.high = MAX(stack.high, peer_port + 1);
    run_in_slot(conn_slot(conn), do_open, &args);
    return conn->pcb != NULL;
}

typedef struct SendArgs {
    PeerConn *conn;
    const uint8_t *data;
    uint32_t len;
    uint32_t sent;
} SendArgs;

static void do_send(void *arg)
{
    SendArgs *args = arg;
    struct tcp_pcb *pcb = args->conn->pcb;

    while (args->sent < args->len) {
        uint32_t left = args->len - args->sent;
        uint32_t now = MIN(MIN(left, tcp_sndbuf(pcb)), UINT16_MAX);

        if (!now || tcp_write(pcb, args->data + args->sent, now,
                              now < left ? TCP_WRITE_FLAG_MORE : 0) != ERR_OK) {
            break;
        }
        args->sent += now;
    }
}

uint32_t peer_conn_send(PeerConn *conn, const uint8_t *data, uint32_t len)
{
    SendArgs args = { .conn = conn, .data = data, .len = len };

    if (conn->pcb) {
        run_in_slot(conn_slot(conn), do_send, &args);
    }
    return args.sent;
}

static void do_push(void *arg)
{
    tcp_output(arg);
}

void peer_conn_push(PeerConn *conn)
{
    if (conn->pcb) {
        run_in_slot(conn_slot(conn), do_push, conn->pcb);
    }
}

static void do_abort(void *arg)
{
    tcp_abort(arg);
}

void peer_conn_abort(PeerConn *conn)
{
    struct tcp_pcb *pcb = conn->pcb;

    peer_event_cancel(stack.config.evs, &conn->ack_event);
    if (pcb) {
        conn_detach(conn);
        run_in_slot(conn_slot(conn), do_abort, pcb);
    }
}

/* From the guest */

static void input_free(struct pbuf *p)
{
    InputPbuf *in = container_of(p, InputPbuf, custom.pbuf);

    peer_frame_free(in->frame);
    g_free(in);
}

static void do_input(void *arg)
{
    PeerFrame *frame = arg;
    InputPbuf *in = g_new(InputPbuf, 1);
    uint32_t len = frame->len - PEER_ETH_HLEN;
    struct pbuf *p;

    in->frame = frame;
    in->custom.custom_free_function = input_free;
    p = pbuf_alloced_custom(PBUF_RAW, len, PBUF_REF, &in->custom,
                            frame->data + PEER_ETH_HLEN, len);
    ip4_input(p, &stack.netif);
}

void peer_stack_input(PeerFrame *frame)
{
    Slot *slot = &no_slot;
    PeerConn *conn = NULL;

    assert(frame->len - PEER_ETH_HLEN <= PEER_IP_MAX);
    if (stack.broken) {
        peer_frame_free(frame);
        return;
    }
    if (frame->flow != PEER_FLOW_OTHER) {
        slot = &stack.slots[frame->flow];
        if (slot->pcbs) {
            conn = slot->pcbs->callback_arg;
        }
    }
    run_in_slot(slot, do_input, frame);

    /* Given up after a fault? */
    if (conn && conn->pcb && !slot->pcbs) {
        conn->pcb = NULL;
        conn->ops->ended(conn, PEER_CONN_RESET);
    }
}

/* Timers: all connections in one list, in the order of their ports */

static void do_tick(void *arg)
{
    tcp_slowtmr();
}

void peer_stack_tick(void)
{
    struct tcp_pcb **tail = &no_slot.pcbs;
    uint64_t faults = stack.stats.faults;

    for (uint32_t port = stack.low; port < stack.high; port++) {
        *tail = stack.slots[port].pcbs;
        stack.slots[port].pcbs = NULL;
        while (*tail) {
            tail = &(*tail)->next;
        }
    }
    run_in_slot(&no_slot, do_tick, NULL);

    if (stack.stats.faults != faults) {
        error_report("lwIP: a timer failed; the peer has stopped");
        stack.broken = true;
        return;
    }
    while (no_slot.pcbs) {
        struct tcp_pcb *pcb = no_slot.pcbs;

        no_slot.pcbs = pcb->next;
        pcb->next = stack.slots[pcb->local_port].pcbs;
        stack.slots[pcb->local_port].pcbs = pcb;
    }
}

/* Set-up */

void peer_stack_set_gso(bool on)
{
    stack.gso = on;
}

const PeerStackStats *peer_stack_stats(void)
{
    return &stack.stats;
}

void peer_stack_init(const PeerStackConfig *config)
{
    ip4_addr_t ip, mask;

    assert(!stack.slots);
    stack.config = *config;
    stack.slots = g_new0(Slot, PORTS);
    peer_rng_init(&stack.rng, config->seed, UINT64_MAX);
    if (!stack.initialized) {
        lwip_init();
        stack.initialized = true;
    }
    tcp_ticks = 0;
    ip4_addr_set_u32(&ip, config->peer_ip);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_add(&stack.netif, &ip, &mask, NULL, NULL, netif_begin, ip4_input);
    netif_set_default(&stack.netif);
}

static void do_cleanup(void *arg)
{
    while (tcp_active_pcbs) {
        tcp_abandon(tcp_active_pcbs, 0);
    }
}

/* The connections must have been aborted */
void peer_stack_cleanup(void)
{
    for (uint32_t port = stack.low; port < stack.high; port++) {
        run_in_slot(&stack.slots[port], do_cleanup, NULL);
    }
    netif_remove(&stack.netif);
    g_free(stack.slots);
    stack.slots = NULL;
    stack.low = stack.high = 0;
    stack.gso = false;
    memset(&stack.stats, 0, sizeof(stack.stats));
}
