/*
 * Coherence: a directory of cache lines
 *
 * For each 64-byte line of the guest's RAM: which vCPUs have a copy of it, and
 * whether the one that has it has modified it (MESI, without telling exclusive
 * and shared copies apart).  Caches are as large as the RAM: what a vCPU has
 * it keeps until another one, or a device, stores to it.
 *
 * Free of QEMU; the unit test covers it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_TIMING_DIRECTORY_H
#define RINGSTEP_TIMING_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_SHIFT 6
#define LINE_SIZE (1 << LINE_SHIFT)

/* A line's state: a bit for each vCPU that has a copy, and: */
#define LINE_VCPUS      16
#define LINE_DEVICE     (1u << 16)      /* written by a device */
#define LINE_MODIFIED   (1u << 31)      /* the only copy, changed */

/* What an access needs before it can happen. */
typedef enum LineTransfer {
    LINE_HIT,           /* nothing */
    LINE_UPGRADE,       /* others have to drop their copies */
    LINE_READ,          /* a copy of what somebody has modified */
    LINE_WRITE,         /* the same, and it has to be dropped there */
} LineTransfer;

typedef struct Line {
    uint32_t *state;
    int64_t *ready_ps;  /* on its way or held until then: others have to wait */
} Line;

/* A vCPU loads from the line. */
static inline LineTransfer line_load(Line line, unsigned int vcpu)
{
    uint32_t state = *line.state;
    uint32_t self = 1u << vcpu;

    if (state & self) {
        return LINE_HIT;
    }
    *line.state = (state & ~(LINE_MODIFIED | LINE_DEVICE)) | self;
    return state & LINE_MODIFIED ? LINE_READ : LINE_HIT;
}

/* A vCPU stores to the line, or loads and stores at once. */
static inline LineTransfer line_store(Line line, unsigned int vcpu)
{
    uint32_t state = *line.state;
    uint32_t self = 1u << vcpu;

    *line.state = self | LINE_MODIFIED;
    if (!(state & ~(self | LINE_MODIFIED))) {
        return LINE_HIT;
    }
    return state & LINE_MODIFIED ? LINE_WRITE : LINE_UPGRADE;
}

/* The vCPU that has the line uses it until @ps. */
static inline void line_hold(Line line, int64_t ps)
{
    if (*line.ready_ps < ps) {
        *line.ready_ps = ps;
    }
}

/* A device stores to the line. */
static inline void line_dma(Line line)
{
    *line.state = LINE_DEVICE | LINE_MODIFIED;
}

/* The lines of 2 MiB of RAM. */
#define CHUNK_SHIFT 21
#define CHUNK_LINES (1 << (CHUNK_SHIFT - LINE_SHIFT))

typedef struct DirectoryChunk {
    uint32_t state[CHUNK_LINES];
    int64_t ready_ps[CHUNK_LINES];
} DirectoryChunk;

/* Guest-physical addresses are below this. */
#define DIRECTORY_LIMIT (UINT64_C(1) << 41)

/* It grows with the RAM that is used: 12 bytes for each 64. */
typedef struct Directory {
    DirectoryChunk *chunk[DIRECTORY_LIMIT >> CHUNK_SHIFT];
} Directory;

/**
 * directory_new: a directory in which nobody has a copy of anything.
 */
Directory *directory_new(void);

/**
 * directory_grow: provide for the lines around @addr.
 */
DirectoryChunk *directory_grow(Directory *directory, uint64_t addr);

static inline DirectoryChunk *directory_chunk(Directory *directory,
                                              uint64_t addr)
{
    DirectoryChunk *chunk = directory->chunk[addr >> CHUNK_SHIFT];

    return chunk ? chunk : directory_grow(directory, addr);
}

static inline unsigned int line_in_chunk(uint64_t addr)
{
    return (addr >> LINE_SHIFT) % CHUNK_LINES;
}

static inline Line chunk_line(DirectoryChunk *chunk, unsigned int i)
{
    return (Line) { &chunk->state[i], &chunk->ready_ps[i] };
}

/**
 * directory_line: the line at the guest-physical address @addr.
 */
static inline Line directory_line(Directory *directory, uint64_t addr)
{
    return chunk_line(directory_chunk(directory, addr), line_in_chunk(addr));
}

#endif
