/*
 * The image below a disk.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qobject/qdict.h"
#include "block/block-io.h"
#include "block/qdict.h"
#include "ringstep/nvme/image.h"

#define OPT_IMAGE "image"

/* The file in which the data of @bs is, if it is one */
static const char *GRAPH_RDLOCK file_of(BlockDriverState *bs)
{
    while (bdrv_primary_bs(bs)) {
        bs = bdrv_primary_bs(bs);
    }
    return strcmp(bs->drv->format_name, "file") ? NULL : bs->filename;
}

static bool stamp(DiskImage *image, Error **errp)
{
    bdrv_graph_rdlock_main_loop();
    image->file = file_of(image->child->bs);
    bdrv_graph_rdunlock_main_loop();
    if (image->file && stat(image->file, &image->stat) < 0) {
        error_setg_errno(errp, errno, "ringstep: cannot look at the image "
                         "'%s'", image->file);
        return false;
    }
    return true;
}

bool disk_image_open(DiskImage *image, BlockDriverState *bs, QDict *options,
                     Error **errp)
{
    Error *local_err = NULL;

    /* Else it would be opened as the disk itself is: to be written */
    if (qdict_haskey(options, OPT_IMAGE ".driver")) {
        qdict_set_default_str(options, OPT_IMAGE ".read-only", "on");
        qdict_set_default_str(options, OPT_IMAGE ".auto-read-only", "off");
    }
    image->child = bdrv_open_child(NULL, options, OPT_IMAGE, bs,
                                   &child_of_bds, BDRV_CHILD_DATA, true,
                                   &local_err);
    if (local_err) {
        error_propagate_prepend(errp, local_err, "ringstep: image: ");
        return false;
    }
    return !image->child || stamp(image, errp);
}

int64_t disk_image_length(DiskImage *image, Error **errp)
{
    int64_t length;

    /* The block layer's is in whole sectors */
    if (image->file) {
        return image->stat.st_size;
    }
    length = bdrv_getlength(image->child->bs);
    if (length < 0) {
        error_setg_errno(errp, -length, "ringstep: cannot tell the size of "
                         "the image");
        return -1;
    }
    return length;
}

static bool unchanged(const DiskImage *image)
{
    const struct stat *was = &image->stat;
    struct stat is;

    return !image->file ||
           (stat(image->file, &is) == 0 &&
            is.st_dev == was->st_dev && is.st_ino == was->st_ino &&
            is.st_size == was->st_size &&
            is.st_mtim.tv_sec == was->st_mtim.tv_sec &&
            is.st_mtim.tv_nsec == was->st_mtim.tv_nsec);
}

int coroutine_fn disk_image_read(DiskImage *image, int64_t offset,
                                 int64_t bytes, QEMUIOVector *qiov,
                                 size_t qiov_offset)
{
    int ret = bdrv_co_preadv_part(image->child, offset, bytes, qiov,
                                  qiov_offset, 0);

    if (ret == 0 && !unchanged(image)) {
        error_report_once("ringstep: the image '%s' has changed since it was "
                          "opened", image->file);
        return -EIO;
    }
    return ret;
}
