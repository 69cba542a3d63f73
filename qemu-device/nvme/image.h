/*
 * The image below a disk: read only, and the same from the first read to the
 * last.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NVME_IMAGE_H
#define RINGSTEP_NVME_IMAGE_H

#include "block/block_int.h"

typedef struct DiskImage {
    BdrvChild *child;           /* NULL: there is none */
    const char *file;           /* its name; NULL: it is no file */
    struct stat stat;           /* the file's, when it was opened */
} DiskImage;

/* Takes the options of "image" out of @options; none are fine. */
bool disk_image_open(DiskImage *image, BlockDriverState *bs, QDict *options,
                     Error **errp);

/**
 * disk_image_length: its bytes; with an error -1.
 */
int64_t disk_image_length(DiskImage *image, Error **errp);

/**
 * disk_image_read: bytes of the image into a part of @qiov.
 *
 * Returns: 0, or -EIO if the image is not what it was.
 */
int coroutine_fn GRAPH_RDLOCK
disk_image_read(DiskImage *image, int64_t offset, int64_t bytes,
                QEMUIOVector *qiov, size_t qiov_offset);

#endif
