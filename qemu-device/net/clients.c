/*
 * The clients.
 *
 * A connection has a slot for each request that it keeps in flight.  A slot
 * goes round: think, send the request, wait for the whole reply, wait for the
 * client machine's CPU (one server, first come first served, service-ns for
 * each reply), and again.  The latency of a request is the time from its
 * sending to the end of its service.
 *
 * Connections can belong together in groups: then the slots of a group go
 * round together.  It thinks once all its slots are idle, and sends all its
 * requests at the same time, as a client does that asks several servers, or
 * one in several pieces, and needs all the answers.  A connection that is
 * lost leaves its group.
 *
 * The bytes of all messages come from one table of random bytes.  Each
 * connection reads it from a place of its own, so that lost, repeated, mixed
 * up and changed bytes all show: the replies are the same stream as the
 * requests.
 *
 * A sink has no requests.  It counts what the server sends in messages of
 * equal size, whose bytes may be any.  The latency of one is the time since
 * the one before it, or since the connection was established.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "ringstep/net/clients.h"
#include "ringstep/net/stack.h"

/* A prime, so that no message length is in step with it */
#define PATTERN_PERIOD   65521
/* What can be read from any place in the period */
#define PATTERN_PIECE    65536
/* The streams of random numbers; connection i draws from stream i */
#define STREAM_PATTERN   (1ULL << 32)
#define STREAM_PORTS     (STREAM_PATTERN + 1)
/* Ports of the clients are in [FIRST_PORT, 65536) */
#define FIRST_PORT       10000
#define RETRY_NS         10000000

typedef struct Conn Conn;

typedef struct Request {
    PeerEvent event;            /* the end of a think time or of a service */
    Conn *conn;
    int64_t start_ns;
} Request;

typedef struct Group {
    PeerEvent event;            /* the end of a think time */
    Conn *conns;
    uint32_t count;             /* of them */
    uint32_t slots;             /* of connections that are not lost */
    uint32_t idle;              /* of these */
} Group;

struct Conn {
    PeerConn tcp;
    PeerEvent open_event;
    PeerClients *clients;
    Group *group;               /* NULL: the slots are on their own */
    uint32_t idle;              /* slots that wait for others of the group */
    PeerRng rng;
    uint16_t port;
    bool established;
    uint64_t asked;             /* bytes of all requests so far */
    uint64_t sent;              /* of them given to TCP */
    uint64_t received;
    uint32_t send_place;        /* in the pattern */
    uint32_t receive_place;
    uint32_t reply_left;        /* bytes missing of the oldest request */
    int64_t message_ns;         /* end of the last message (sink) */
    uint32_t first;             /* the oldest request in flight, in @order */
    uint32_t in_flight;
    uint32_t *order;            /* slots in flight, a ring */
    Request *requests;          /* the slots */
};

struct PeerClients {
    PeerClientsConfig config;
    PeerClientsStats stats;
    PeerEvents *evs;
    PeerMeasure *measure;
    uint8_t *pattern;
    Conn *conns;
    Request *requests;
    uint32_t *orders;
    Group *groups;
    uint32_t group_count;
    int64_t cpu_free_ns;        /* when the client machine is idle again */
    uint16_t server_port;
    bool started;
    bool stopped;
};

static void fill_pattern(PeerClients *clients)
{
    PeerRng rng;

    clients->pattern = g_malloc(PATTERN_PERIOD + PATTERN_PIECE);
    peer_rng_init(&rng, clients->config.seed, STREAM_PATTERN);
    for (uint32_t i = 0; i < PATTERN_PERIOD; i++) {
        clients->pattern[i] = peer_rng_next(&rng) >> 56;
    }
    for (uint32_t i = 0; i < PATTERN_PIECE; i++) {
        clients->pattern[PATTERN_PERIOD + i] =
            clients->pattern[i % PATTERN_PERIOD];
    }
}

static void conn_send(Conn *conn)
{
    const uint8_t *pattern = conn->clients->pattern;

    while (conn->sent < conn->asked) {
        uint32_t want = MIN(conn->asked - conn->sent, PATTERN_PIECE);
        uint32_t done = peer_conn_send(&conn->tcp, pattern + conn->send_place,
                                       want);

        conn->sent += done;
        conn->send_place = (conn->send_place + done) % PATTERN_PERIOD;
        if (done < want) {
            break;              /* conn_writable() goes on */
        }
    }
    peer_conn_push(&conn->tcp);
}

static void request_begin(Request *req)
{
    Conn *conn = req->conn;
    PeerClients *clients = conn->clients;
    uint32_t depth = clients->config.depth;

    if (clients->stopped || !conn->established) {
        return;
    }
    req->start_ns = peer_now(clients->evs);
    conn->order[(conn->first + conn->in_flight) % depth] =
        req - conn->requests;
    if (conn->in_flight++ == 0) {
        conn->reply_left = clients->config.message_size;
    }
    conn->asked += clients->config.message_size;
    conn_send(conn);
}

static uint64_t conn_think_ns(Conn *conn)
{
    const PeerClientsConfig *config = &conn->clients->config;

    return peer_think(&conn->rng, config->think_dist, config->think_ns);
}

static void group_think_over(PeerEvent *ev)
{
    Group *group = container_of(ev, Group, event);

    for (uint32_t i = 0; i < group->count; i++) {
        Conn *conn = &group->conns[i];

        for (uint32_t j = 0; j < conn->clients->config.depth; j++) {
            request_begin(&conn->requests[j]);
        }
    }
}

/* The next round, when no slot is missing */
static void group_check(Group *group)
{
    PeerClients *clients = group->conns->clients;
    uint64_t think_ns;

    if (!group->slots || group->idle < group->slots) {
        return;
    }
    for (uint32_t i = 0; i < group->count; i++) {
        group->conns[i].idle = 0;
    }
    group->idle = 0;
    think_ns = conn_think_ns(group->conns);
    /* Not from here: what calls this may be in the middle of a segment */
    peer_event_at(clients->evs, &group->event,
                  peer_now(clients->evs) + think_ns);
}

static void group_leave(Group *group, Conn *conn)
{
    group->slots -= conn->clients->config.depth;
    group->idle -= conn->idle;
    conn->idle = 0;
    group_check(group);
}

static void request_think(Request *req);

static void request_end(Request *req)
{
    PeerClients *clients = req->conn->clients;

    clients->stats.requests++;
    peer_measure_request(clients->measure, req->start_ns,
                         peer_now(clients->evs), clients->config.message_size);
    request_think(req);
}

static void think_over(PeerEvent *ev)
{
    request_begin(container_of(ev, Request, event));
}

static void service_over(PeerEvent *ev)
{
    request_end(container_of(ev, Request, event));
}

static void request_think(Request *req)
{
    PeerClients *clients = req->conn->clients;
    Group *group = req->conn->group;
    uint64_t think_ns;

    if (group) {
        req->conn->idle++;
        group->idle++;
        group_check(group);
        return;
    }
    think_ns = conn_think_ns(req->conn);
    if (think_ns) {
        req->event.func = think_over;
        peer_event_at(clients->evs, &req->event,
                      peer_now(clients->evs) + think_ns);
    } else {
        request_begin(req);
    }
}

static void request_replied(Request *req)
{
    PeerClients *clients = req->conn->clients;
    int64_t now_ns = peer_now(clients->evs);

    if (clients->config.service_ns) {
        clients->cpu_free_ns = MAX(clients->cpu_free_ns, now_ns) +
                               clients->config.service_ns;
        req->event.func = service_over;
        peer_event_at(clients->evs, &req->event, clients->cpu_free_ns);
    } else {
        request_end(req);
    }
}

static void conn_connected(PeerConn *tcp)
{
    Conn *conn = container_of(tcp, Conn, tcp);
    PeerClients *clients = conn->clients;

    conn->established = true;
    clients->stats.connected++;
    clients->stats.open++;
    if (clients->config.protocol == PEER_PROTOCOL_SINK) {
        conn->reply_left = clients->config.message_size;
        conn->message_ns = peer_now(clients->evs);
        return;
    }
    for (uint32_t i = 0; i < clients->config.depth; i++) {
        request_think(&conn->requests[i]);
    }
}

static void conn_lost(Conn *conn)
{
    PeerClients *clients = conn->clients;

    conn->established = false;
    clients->stats.open--;
    for (uint32_t i = 0; i < clients->config.depth; i++) {
        peer_event_cancel(clients->evs, &conn->requests[i].event);
    }
    if (conn->group) {
        group_leave(conn->group, conn);
    }
}

/* Not what was sent: nothing that follows can be told apart any more */
static void conn_garbled(Conn *conn)
{
    conn->clients->stats.payload_errors++;
    conn_lost(conn);
    peer_conn_abort(&conn->tcp);
}

static void conn_sink(Conn *conn, uint32_t len)
{
    PeerClients *clients = conn->clients;
    int64_t now_ns = peer_now(clients->evs);

    while (len >= conn->reply_left) {
        len -= conn->reply_left;
        conn->reply_left = clients->config.message_size;
        clients->stats.requests++;
        peer_measure_request(clients->measure, conn->message_ns, now_ns,
                             clients->config.message_size);
        conn->message_ns = now_ns;
    }
    conn->reply_left -= len;
}

static void conn_received(PeerConn *tcp, const uint8_t *data, uint32_t len)
{
    Conn *conn = container_of(tcp, Conn, tcp);
    PeerClients *clients = conn->clients;

    if (clients->config.protocol == PEER_PROTOCOL_SINK) {
        conn_sink(conn, len);
        return;
    }
    while (len) {
        uint32_t piece = MIN(len, MIN(conn->reply_left, PATTERN_PIECE));
        Request *req;

        if (!conn->in_flight || !conn->established ||
            conn->received + piece > conn->sent ||
            memcmp(data, clients->pattern + conn->receive_place, piece)) {
            conn_garbled(conn);
            return;
        }
        conn->received += piece;
        conn->receive_place = (conn->receive_place + piece) % PATTERN_PERIOD;
        conn->reply_left -= piece;
        data += piece;
        len -= piece;
        if (conn->reply_left) {
            continue;
        }
        req = &conn->requests[conn->order[conn->first]];
        conn->first = (conn->first + 1) % clients->config.depth;
        conn->in_flight--;
        conn->reply_left = clients->config.message_size;
        request_replied(req);
    }
}

static void conn_writable(PeerConn *tcp)
{
    Conn *conn = container_of(tcp, Conn, tcp);

    if (conn->sent < conn->asked) {
        conn_send(conn);
    }
}

static void conn_ended(PeerConn *tcp, PeerConnEnd end)
{
    Conn *conn = container_of(tcp, Conn, tcp);
    PeerClients *clients = conn->clients;

    if (!conn->established) {
        clients->stats.refused++;
        if (!clients->stopped) {
            peer_event_at(clients->evs, &conn->open_event,
                          peer_now(clients->evs) + RETRY_NS);
        }
        return;
    }
    if (end == PEER_CONN_CLOSED) {
        clients->stats.closes++;
    } else {
        clients->stats.resets++;
    }
    conn_lost(conn);
}

static const PeerConnOps conn_ops = {
    .connected = conn_connected,
    .received = conn_received,
    .writable = conn_writable,
    .ended = conn_ended,
};

static void conn_open(PeerEvent *ev)
{
    Conn *conn = container_of(ev, Conn, open_event);
    PeerClients *clients = conn->clients;

    if (!peer_conn_open(&conn->tcp, conn->port, clients->server_port)) {
        clients->stats.refused++;
        peer_event_at(clients->evs, ev, peer_now(clients->evs) + RETRY_NS);
    }
}

/* The last group is smaller where they do not divide the connections */
static void make_groups(PeerClients *clients)
{
    uint32_t count = clients->config.connections;
    uint32_t size = clients->config.group;

    if (!size) {
        return;
    }
    clients->group_count = DIV_ROUND_UP(count, size);
    clients->groups = g_new0(Group, clients->group_count);
    for (uint32_t i = 0; i < count; i++) {
        Group *group = &clients->groups[i / size];

        if (group->count++ == 0) {
            group->conns = &clients->conns[i];
            group->event.func = group_think_over;
        }
        group->slots += clients->config.depth;
        clients->conns[i].group = group;
    }
}

PeerClients *peer_clients_new(const PeerClientsConfig *config, PeerEvents *evs,
                              PeerMeasure *measure)
{
    PeerClients *clients = g_new0(PeerClients, 1);
    uint32_t count = config->connections;
    uint32_t depth = config->depth;
    PeerRng ports;
    uint32_t port;

    assert(count > 0 && count <= PEER_MAX_CONNECTIONS);
    assert(depth > 0 && (uint64_t)count * depth <= PEER_MAX_REQUESTS);
    assert(config->message_size > 0);

    clients->config = *config;
    clients->evs = evs;
    clients->measure = measure;
    fill_pattern(clients);

    peer_rng_init(&ports, config->seed, STREAM_PORTS);
    port = FIRST_PORT + peer_rng_below(&ports, 65536 - FIRST_PORT - count + 1);
    clients->conns = g_new0(Conn, count);
    clients->requests = g_new0(Request, count * depth);
    clients->orders = g_new0(uint32_t, count * depth);
    for (uint32_t i = 0; i < count; i++) {
        Conn *conn = &clients->conns[i];

        conn->tcp.ops = &conn_ops;
        conn->open_event.func = conn_open;
        conn->clients = clients;
        conn->port = port + i;
        conn->requests = &clients->requests[i * depth];
        conn->order = &clients->orders[i * depth];
        peer_rng_init(&conn->rng, config->seed, i);
        conn->send_place = peer_rng_below(&conn->rng, PATTERN_PERIOD);
        conn->receive_place = conn->send_place;
        for (uint32_t j = 0; j < depth; j++) {
            conn->requests[j].conn = conn;
        }
    }
    make_groups(clients);
    return clients;
}

void peer_clients_start(PeerClients *clients, uint16_t port)
{
    int64_t now_ns = peer_now(clients->evs);

    assert(!clients->started);
    clients->started = true;
    clients->server_port = port;
    for (uint32_t i = 0; i < clients->config.connections; i++) {
        Conn *conn = &clients->conns[i];

        peer_event_at(clients->evs, &conn->open_event, now_ns +
                      peer_rng_below(&conn->rng,
                                     clients->config.start_spread_ns));
    }
}

bool peer_clients_started(const PeerClients *clients)
{
    return clients->started;
}

void peer_clients_stop(PeerClients *clients)
{
    clients->stopped = true;
    for (uint32_t i = 0; i < clients->config.connections; i++) {
        Conn *conn = &clients->conns[i];

        peer_event_cancel(clients->evs, &conn->open_event);
        for (uint32_t j = 0; j < clients->config.depth; j++) {
            peer_event_cancel(clients->evs, &conn->requests[j].event);
        }
    }
    for (uint32_t i = 0; i < clients->group_count; i++) {
        peer_event_cancel(clients->evs, &clients->groups[i].event);
    }
}

void peer_clients_free(PeerClients *clients)
{
    if (!clients) {
        return;
    }
    peer_clients_stop(clients);
    for (uint32_t i = 0; i < clients->config.connections; i++) {
        peer_conn_abort(&clients->conns[i].tcp);
    }
    g_free(clients->groups);
    g_free(clients->orders);
    g_free(clients->requests);
    g_free(clients->conns);
    g_free(clients->pattern);
    g_free(clients);
}

const PeerClientsStats *peer_clients_stats(const PeerClients *clients)
{
    return &clients->stats;
}
