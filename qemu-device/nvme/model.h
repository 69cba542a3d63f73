/*
 * The disk's timing: when a request is done, from integers only.
 *
 * A disk is a number of channels.  A channel serves one thing at a time, first
 * come, first served.  Reads and writes are cut into pieces of a stripe, each
 * of which goes to the channel that is free first; the request is done with
 * its last piece.  A flush needs no channel.
 *
 * With a buffer (the "ssd" model) a write is done when it is in there.  The
 * buffer drains to flash all the time; a write for which it has no room waits,
 * and so does a flush until all that was written before has drained.  Each so
 * many bytes the disk collects garbage: nothing is served and nothing drains
 * for a while.  How long a read or write takes is drawn from the seed.
 *
 * Not modelled: which channel holds which block; the link to the host.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NVME_MODEL_H
#define RINGSTEP_NVME_MODEL_H

#include "ringstep/net/think.h"

#define DISK_MAX_CHANNELS   256
#define DISK_MAX_OP_NS      INT64_C(1000000000)         /* 1 s */
#define DISK_MAX_BYTE_PS    INT64_C(1000000)            /* 1 MB/s */
#define DISK_MAX_BYTES      (INT64_C(1) << 40)          /* of the disk */

typedef enum DiskOp {
    DISK_READ,
    DISK_WRITE,
    DISK_DISCARD,               /* also: write zeroes */
    DISK_FLUSH,
    DISK_OP__MAX
} DiskOp;

typedef struct DiskModelConfig {
    int64_t channels;
    int64_t stripe;             /* bytes */
    int64_t op_ns[DISK_OP__MAX];        /* a piece, a discard or a flush ... */
    int64_t byte_ps[DISK_OP__MAX];      /* ... and for each byte of it */

    int64_t spread_percent;     /* of op_ns: drawn from an exponential */
    uint64_t seed;

    int64_t buffer;             /* bytes; 0: none, writes go where they stay */
    int64_t drain_byte_ps;
    int64_t gc_bytes;           /* written between two pauses; 0: none */
    int64_t gc_ns;
} DiskModelConfig;

typedef struct DiskModel {
    DiskModelConfig config;
    PeerRng rng;
    int64_t free_ps[DISK_MAX_CHANNELS]; /* when the channel is free */
    int64_t drained_ps;                 /* when the buffer is empty */
    int64_t gc_left;                    /* bytes until the next pause */
} DiskModel;

void disk_model_init(DiskModel *m, const DiskModelConfig *config);

/**
 * disk_model_submit: a request of @bytes arrives at @now_ns.
 * @fua: the write is to be where it stays when it is done
 *
 * Returns: when it is done, in ns; INT64_MAX / 1000 for never.
 */
int64_t disk_model_submit(DiskModel *m, DiskOp op, int64_t bytes, bool fua,
                          int64_t now_ns);

/* Nothing is being served, and the buffer is empty. */
void disk_model_idle(DiskModel *m);

#endif
