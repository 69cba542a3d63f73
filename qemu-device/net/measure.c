/*
 * What the clients measure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "ringstep/net/measure.h"

void peer_measure_init(PeerMeasure *m)
{
    memset(m, 0, sizeof(*m));
    m->latencies = g_array_new(false, false, sizeof(uint64_t));
}

void peer_measure_cleanup(PeerMeasure *m)
{
    g_array_free(m->latencies, true);
    m->latencies = NULL;
}

void peer_measure_begin(PeerMeasure *m, int64_t now_ns)
{
    if (!m->begun) {
        m->begun = true;
        m->begin_ns = now_ns;
    }
}

void peer_measure_end(PeerMeasure *m, int64_t now_ns)
{
    if (m->begun && !m->ended) {
        m->ended = true;
        m->end_ns = now_ns;
    }
}

void peer_measure_request(PeerMeasure *m, int64_t start_ns, int64_t now_ns,
                          uint64_t bytes)
{
    uint64_t latency = now_ns - start_ns;

    if (m->begun && now_ns >= m->begin_ns &&
        (!m->ended || now_ns < m->end_ns)) {
        m->requests++;
        m->bytes += bytes;
        g_array_append_val(m->latencies, latency);
    }
}

void peer_measure_to_le(PeerMeasure *m)
{
    for (guint i = 0; i < m->latencies->len; i++) {
        uint64_t *latency = &g_array_index(m->latencies, uint64_t, i);

        *latency = cpu_to_le64(*latency);
    }
}
