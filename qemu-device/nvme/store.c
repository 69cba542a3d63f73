/*
 * What is on the disk.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include <sys/mman.h>
#include "qapi/error.h"
#include "qemu/bitmap.h"
#include "qemu/madvise.h"
#include "ringstep/nvme/store.h"

bool disk_store_init(DiskStore *st, int64_t size, bool image, Error **errp)
{
    void *data = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (data == MAP_FAILED) {
        error_setg_errno(errp, errno, "ringstep: no memory for a disk of %"
                         PRId64 " bytes", size);
        return false;
    }
    st->data = data;
    st->size = size;
    st->written = image ? bitmap_new(size / DISK_SECTOR) : NULL;
    return true;
}

void disk_store_cleanup(DiskStore *st)
{
    munmap(st->data, st->size);
    g_free(st->written);
}

int64_t disk_store_run(const DiskStore *st, int64_t offset, int64_t bytes,
                       bool *here)
{
    unsigned long first = offset / DISK_SECTOR;
    unsigned long end = (offset + bytes) / DISK_SECTOR;
    unsigned long next;

    if (!st->written) {
        *here = true;
        return bytes;
    }
    *here = test_bit(first, st->written);
    next = *here ? find_next_zero_bit(st->written, end, first)
                 : find_next_bit(st->written, end, first);
    return (int64_t)(next - first) * DISK_SECTOR;
}

uint8_t *disk_store_claim(DiskStore *st, int64_t offset, int64_t bytes)
{
    if (st->written) {
        bitmap_set(st->written, offset / DISK_SECTOR, bytes / DISK_SECTOR);
    }
    return st->data + offset;
}

void disk_store_zero(DiskStore *st, int64_t offset, int64_t bytes)
{
    size_t page = qemu_real_host_page_size();
    uint8_t *from = disk_store_claim(st, offset, bytes);
    uint8_t *to = from + bytes;
    uint8_t *first = QEMU_ALIGN_PTR_UP(from, page);
    uint8_t *last = QEMU_ALIGN_PTR_DOWN(to, page);

    /* Private anonymous pages that are given back read as zeroes. */
    if (first < last &&
        qemu_madvise(first, last - first, QEMU_MADV_DONTNEED) == 0) {
        memset(from, 0, first - from);
        memset(last, 0, to - last);
    } else {
        memset(from, 0, bytes);
    }
}
