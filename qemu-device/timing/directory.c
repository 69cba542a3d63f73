/*
 * Coherence: a directory of cache lines
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include <glib.h>
#include "directory.h"

Directory *directory_new(void)
{
    return g_new0(Directory, 1);
}

DirectoryChunk *directory_grow(Directory *directory, uint64_t addr)
{
    DirectoryChunk **chunk = &directory->chunk[addr >> CHUNK_SHIFT];

    *chunk = g_new0(DirectoryChunk, 1);
    return *chunk;
}
