/*
 * What is on the disk: its bytes in memory, and which of them are the image's.
 *
 * Only what is written takes memory.  Where there is an image, a sector that
 * has not been written to is still there and not here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NVME_STORE_H
#define RINGSTEP_NVME_STORE_H

#define DISK_SECTOR 512

typedef struct DiskStore {
    uint8_t *data;
    int64_t size;
    unsigned long *written;     /* a bit a sector; NULL without an image */
} DiskStore;

/* @size is a multiple of DISK_SECTOR.  False when that cannot be had. */
bool disk_store_init(DiskStore *st, int64_t size, bool image, Error **errp);
void disk_store_cleanup(DiskStore *st);

/* All offsets and lengths from here on are multiples of DISK_SECTOR. */

/**
 * disk_store_run: the bytes from @offset on that are in one place.
 * @here: set to whether that is the store, else it is the image
 */
int64_t disk_store_run(const DiskStore *st, int64_t offset, int64_t bytes,
                       bool *here);

/* @bytes from @offset on are in the store from now on; where to put them. */
uint8_t *disk_store_claim(DiskStore *st, int64_t offset, int64_t bytes);

/* The same, and they read as zeroes; what memory they took is given back. */
void disk_store_zero(DiskStore *st, int64_t offset, int64_t bytes);

#endif
