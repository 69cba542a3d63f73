/*
 * Coherence: a directory of cache lines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include "directory.h"

#define CHUNK_SHIFT 21
#define CHUNK_LINES (1 << (CHUNK_SHIFT - LINE_SHIFT))

typedef struct Chunk {
    uint32_t state[CHUNK_LINES];
    int64_t ready_ps[CHUNK_LINES];
} Chunk;

struct Directory {
    Chunk *chunk[DIRECTORY_LIMIT >> CHUNK_SHIFT];
};

Directory *directory_new(void)
{
    return g_new0(Directory, 1);
}

void directory_free(Directory *directory)
{
    for (size_t i = 0; i < G_N_ELEMENTS(directory->chunk); i++) {
        g_free(directory->chunk[i]);
    }
    g_free(directory);
}

Line directory_line(Directory *directory, uint64_t addr)
{
    Chunk **chunk = &directory->chunk[addr >> CHUNK_SHIFT];
    size_t i = (addr >> LINE_SHIFT) % CHUNK_LINES;

    if (G_UNLIKELY(!*chunk)) {
        *chunk = g_new0(Chunk, 1);
    }
    return (Line) { &(*chunk)->state[i], &(*chunk)->ready_ps[i] };
}
