/*
 * The disk's timing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "ringstep/nvme/model.h"

#define PS_PER_NS   1000
#define NEVER_PS    INT64_MAX

/* A guest can queue up more than there is time: then it waits forever */
static int64_t later(int64_t ps, int64_t by_ps)
{
    int64_t sum;

    return sadd64_overflow(ps, by_ps, &sum) ? NEVER_PS : sum;
}

void disk_model_init(DiskModel *m, const DiskModelConfig *config)
{
    memset(m, 0, sizeof(*m));
    m->config = *config;
    m->gc_left = config->gc_bytes;
    peer_rng_init(&m->rng, config->seed, 0);
}

/* The one that is free first; of several the lowest */
static int64_t *first_free(DiskModel *m)
{
    int64_t *first = &m->free_ps[0];

    for (int i = 1; i < m->config.channels; i++) {
        if (m->free_ps[i] < *first) {
            first = &m->free_ps[i];
        }
    }
    return first;
}

/* The mean stays: what does not spread is certain, the rest exponential */
static int64_t draw_ps(DiskModel *m, int64_t mean_ns)
{
    uint64_t spread_ns = mean_ns * m->config.spread_percent / 100;
    uint64_t drawn_ns = peer_think(&m->rng, PEER_THINK_EXPONENTIAL, spread_ns);

    return (mean_ns - spread_ns + drawn_ns) * PS_PER_NS;
}

static int64_t service_ps(DiskModel *m, DiskOp op, int64_t bytes)
{
    const DiskModelConfig *c = &m->config;
    int64_t ps = c->op_ns[op] * PS_PER_NS;

    if (c->spread_percent && (op == DISK_READ || op == DISK_WRITE)) {
        ps = draw_ps(m, c->op_ns[op]);
    }
    return ps + bytes * c->byte_ps[op];
}

/* From @start_ps on, when there is room for @bytes; they are in then */
static int64_t enter_buffer(DiskModel *m, int64_t bytes, int64_t start_ps)
{
    const DiskModelConfig *c = &m->config;
    int64_t room_ps = later(m->drained_ps,
                            (bytes - c->buffer) * c->drain_byte_ps);

    start_ps = MAX(start_ps, room_ps);
    m->drained_ps = later(MAX(m->drained_ps, start_ps),
                          bytes * c->drain_byte_ps);
    return start_ps;
}

/* The pause, if it is time for one, starts when this write is done */
static void collect_garbage(DiskModel *m, int64_t bytes, int64_t done_ps)
{
    int64_t gc_ps = m->config.gc_ns * PS_PER_NS;

    m->gc_left -= bytes;
    if (m->gc_left > 0) {
        return;
    }
    m->gc_left += m->config.gc_bytes;
    for (int i = 0; i < m->config.channels; i++) {
        m->free_ps[i] = later(MAX(m->free_ps[i], done_ps), gc_ps);
    }
    m->drained_ps = later(MAX(m->drained_ps, done_ps), gc_ps);
}

/* One channel's work; when it is done */
static int64_t serve(DiskModel *m, DiskOp op, int64_t bytes, int64_t now_ps)
{
    int64_t *channel = first_free(m);
    int64_t start_ps = MAX(now_ps, *channel);
    int64_t done_ps;

    if (op == DISK_WRITE && m->config.buffer) {
        start_ps = enter_buffer(m, bytes, start_ps);
    }
    done_ps = later(start_ps, service_ps(m, op, bytes));
    *channel = done_ps;
    if (op == DISK_WRITE && m->config.gc_bytes) {
        collect_garbage(m, bytes, done_ps);
    }
    return done_ps;
}

static int64_t serve_pieces(DiskModel *m, DiskOp op, int64_t bytes,
                            int64_t now_ps)
{
    int64_t done_ps = now_ps;

    while (bytes > 0) {
        int64_t piece = MIN(bytes, m->config.stripe);
        int64_t piece_done_ps = serve(m, op, piece, now_ps);

        done_ps = MAX(done_ps, piece_done_ps);
        bytes -= piece;
    }
    return done_ps;
}

int64_t disk_model_submit(DiskModel *m, DiskOp op, int64_t bytes, bool fua,
                          int64_t now_ns)
{
    int64_t now_ps = now_ns * PS_PER_NS;
    int64_t done_ps = now_ps;

    switch (op) {
    case DISK_READ:
    case DISK_WRITE:
        done_ps = serve_pieces(m, op, bytes, now_ps);
        if (fua) {
            done_ps = MAX(done_ps, m->drained_ps);
        }
        break;
    case DISK_DISCARD:
        done_ps = serve(m, op, bytes, now_ps);
        break;
    case DISK_FLUSH:
        done_ps = later(MAX(now_ps, m->drained_ps),
                        service_ps(m, op, 0));
        break;
    case DISK_OP__MAX:
        g_assert_not_reached();
    }
    /* A clock of ns cannot say earlier */
    return done_ps / PS_PER_NS + (done_ps % PS_PER_NS && done_ps != NEVER_PS);
}

void disk_model_idle(DiskModel *m)
{
    memset(m->free_ps, 0, sizeof(m->free_ps));
    m->drained_ps = 0;
}
