/*
 * What the clients measure: requests, bytes and latencies in the window that
 * the guest marks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_MEASURE_H
#define RINGSTEP_NET_MEASURE_H

typedef struct PeerMeasure {
    bool begun;
    bool ended;
    int64_t begin_ns;
    int64_t end_ns;
    uint64_t requests;
    uint64_t bytes;             /* of replies */
    GArray *latencies;          /* uint64_t, ns, by order of completion */
} PeerMeasure;

void peer_measure_init(PeerMeasure *m);
void peer_measure_cleanup(PeerMeasure *m);

/* The first window counts; what follows it is ignored */
void peer_measure_begin(PeerMeasure *m, int64_t now_ns);
void peer_measure_end(PeerMeasure *m, int64_t now_ns);

/* A request of @start_ns was complete at @now_ns */
void peer_measure_request(PeerMeasure *m, int64_t start_ns, int64_t now_ns,
                          uint64_t bytes);

/* Latencies as little endian numbers, in place */
void peer_measure_to_le(PeerMeasure *m);

#endif
