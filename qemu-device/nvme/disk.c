/*
 * The disk: a block driver whose requests take virtual time
 *
 *   -blockdev driver=ringstep,node-name=disk,size=1G,discard=unmap
 *   -device nvme,drive=disk,serial=1,max_ioqpairs=4,msix_qsize=5
 *
 * A request's data is moved when it arrives, and the request is done at the
 * moment that the model (model.h) says.  The options are described in the QAPI
 * schema, at BlockdevOptionsRingstep.
 *
 * Time passes for the guest's requests only, and while the machine runs.  When
 * it is stopped, or the device above is reset or cancels a request, what is in
 * flight is done at once: who waits for it does so without letting time pass.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/coroutine.h"
#include "qemu/error-report.h"
#include "qemu/module.h"
#include "block/block-io.h"
#include "block/block_int.h"
#include "migration/blocker.h"
#include "system/runstate.h"
#include "ringstep/lockstep/lockstep.h"
#include "ringstep/nvme/image.h"
#include "ringstep/nvme/model.h"
#include "ringstep/nvme/options.h"
#include "ringstep/nvme/store.h"

/* A request that waits to be done; on its coroutine's stack */
typedef struct Sleeper {
    QemuCoSleep sleep;
    QTAILQ_ENTRY(Sleeper) next;
} Sleeper;

/* All of it belongs to the thread that runs the main AioContext. */
typedef struct Disk {
    DiskModel model;
    DiskStore store;
    DiskImage image;
    QTAILQ_HEAD(, Sleeper) sleepers;
    bool drained;               /* nobody sleeps */
    Error *blocker;             /* of migration */
} Disk;

/* Choose the size, and check that image and options agree on it */
static int64_t choose_size(DiskImage *image, int64_t size, Error **errp)
{
    int64_t length;

    if (!image->child) {
        if (!size) {
            error_setg(errp, "ringstep: a disk needs a size or an image");
        }
        return size;
    }
    length = disk_image_length(image, errp);
    if (length < 0) {
        return 0;
    }
    if (length < MAX(size, DISK_SECTOR)) {
        error_setg(errp, "ringstep: the image is too small: it has %" PRId64
                   " bytes, the disk %" PRId64, length,
                   MAX(size, DISK_SECTOR));
        return 0;
    }
    if (length % DISK_SECTOR || length > DISK_MAX_BYTES) {
        error_setg(errp, "ringstep: the image's size must be a multiple of %d "
                   "up to %" PRId64 ", not %" PRId64, DISK_SECTOR,
                   DISK_MAX_BYTES, length);
        return 0;
    }
    return size ?: length;
}

static int disk_open(BlockDriverState *bs, QDict *options, int flags,
                     Error **errp)
{
    Disk *disk = bs->opaque;
    DiskOptions o;
    int64_t size;

    if (!disk_image_open(&disk->image, bs, options, errp) ||
        !disk_options_absorb(options, &o, errp)) {
        return -EINVAL;
    }
    size = choose_size(&disk->image, o.size, errp);
    if (!size) {
        return -EINVAL;
    }
    error_setg(&disk->blocker, "what is on the ringstep disk '%s' cannot be "
               "migrated", bdrv_get_device_or_node_name(bs));
    if (migrate_add_blocker_normal(&disk->blocker, errp) < 0) {
        return -ENOTSUP;
    }
    if (!disk_store_init(&disk->store, size, disk->image.child, errp)) {
        migrate_del_blocker(&disk->blocker);
        return -ENOMEM;
    }
    disk_model_init(&disk->model, &o.model);
    QTAILQ_INIT(&disk->sleepers);
    bs->supported_write_flags = BDRV_REQ_FUA;
    bs->supported_zero_flags = BDRV_REQ_FUA | BDRV_REQ_MAY_UNMAP |
                               BDRV_REQ_NO_FALLBACK;
    return 0;
}

static void disk_close(BlockDriverState *bs)
{
    Disk *disk = bs->opaque;

    disk_store_cleanup(&disk->store);
    migrate_del_blocker(&disk->blocker);
}

/* The image is read, by nobody written while we do */
static void disk_child_perm(BlockDriverState *bs, BdrvChild *c,
                            BdrvChildRole role,
                            BlockReopenQueue *reopen_queue,
                            uint64_t perm, uint64_t shared,
                            uint64_t *nperm, uint64_t *nshared)
{
    *nperm = BLK_PERM_CONSISTENT_READ;
    *nshared = BLK_PERM_CONSISTENT_READ | BLK_PERM_WRITE_UNCHANGED;
}

static void disk_refresh_limits(BlockDriverState *bs, Error **errp)
{
    bs->bl.request_alignment = DISK_SECTOR;
}

static int64_t coroutine_fn disk_co_getlength(BlockDriverState *bs)
{
    Disk *disk = bs->opaque;

    return disk->store.size;
}

/*
 * Does time pass for requests?  In lockstep mode not for those of the main
 * loop, such as the monitor's: their moments are the host's.
 */
static bool timed(const Disk *disk)
{
    return !disk->drained && runstate_is_running() &&
           (!lockstep_enabled() || current_cpu);
}

/* A request arrives; *@done_ns: when it is done. */
static int request_begin(Disk *disk, DiskOp op, int64_t bytes,
                         BdrvRequestFlags flags, int64_t *done_ns)
{
    if (qemu_get_current_aio_context() != qemu_get_aio_context()) {
        error_report_once("ringstep: a disk works without iothreads only");
        return -ENOTSUP;
    }
    *done_ns = 0;
    if (timed(disk)) {
        *done_ns = disk_model_submit(&disk->model, op, bytes,
                                     flags & BDRV_REQ_FUA,
                                     qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    }
    return 0;
}

static void coroutine_fn request_end(Disk *disk, int64_t done_ns)
{
    int64_t left_ns = done_ns - qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    Sleeper sleeper = {};

    if (left_ns <= 0 || !timed(disk)) {
        return;
    }
    QTAILQ_INSERT_TAIL(&disk->sleepers, &sleeper, next);
    qemu_co_sleep_ns_wakeable(&sleeper.sleep, QEMU_CLOCK_VIRTUAL, left_ns);
    if (QTAILQ_IN_USE(&sleeper, next)) {
        QTAILQ_REMOVE(&disk->sleepers, &sleeper, next);
    }
}

/* What is in flight is done now, first come, first served. */
static void finish_all(Disk *disk)
{
    Sleeper *sleeper;

    disk_model_idle(&disk->model);
    while ((sleeper = QTAILQ_FIRST(&disk->sleepers))) {
        QTAILQ_REMOVE(&disk->sleepers, sleeper, next);
        qemu_co_sleep_wake(&sleeper->sleep);
    }
}

static void finish_all_bh(void *opaque)
{
    BlockDriverState *bs = opaque;

    finish_all(bs->opaque);
    bdrv_unref(bs);
}

/* Later: who cancels a request does not expect it to be gone on return. */
static void disk_cancel_in_flight(BlockDriverState *bs)
{
    bdrv_ref(bs);
    aio_bh_schedule_oneshot(qemu_get_aio_context(), finish_all_bh, bs);
}

static void disk_drain_begin(BlockDriverState *bs)
{
    Disk *disk = bs->opaque;

    disk->drained = true;
    finish_all(disk);
}

static void disk_drain_end(BlockDriverState *bs)
{
    Disk *disk = bs->opaque;

    disk->drained = false;
}

static int coroutine_fn GRAPH_RDLOCK
load(Disk *disk, int64_t offset, int64_t bytes, QEMUIOVector *qiov)
{
    int64_t loaded = 0;

    while (loaded < bytes) {
        int64_t at = offset + loaded;
        bool here;
        int64_t run = disk_store_run(&disk->store, at, bytes - loaded, &here);
        int ret;

        if (here) {
            qemu_iovec_from_buf(qiov, loaded, disk->store.data + at, run);
        } else {
            ret = disk_image_read(&disk->image, at, run, qiov, loaded);
            if (ret < 0) {
                return ret;
            }
        }
        loaded += run;
    }
    return 0;
}

static int coroutine_fn GRAPH_RDLOCK
disk_co_preadv(BlockDriverState *bs, int64_t offset, int64_t bytes,
               QEMUIOVector *qiov, BdrvRequestFlags flags)
{
    Disk *disk = bs->opaque;
    int64_t done_ns;
    int ret = request_begin(disk, DISK_READ, bytes, 0, &done_ns);

    if (ret == 0) {
        ret = load(disk, offset, bytes, qiov);
    }
    if (ret == 0) {
        request_end(disk, done_ns);
    }
    return ret;
}

static int coroutine_fn disk_co_pwritev(BlockDriverState *bs, int64_t offset,
                                        int64_t bytes, QEMUIOVector *qiov,
                                        BdrvRequestFlags flags)
{
    Disk *disk = bs->opaque;
    int64_t done_ns;
    int ret = request_begin(disk, DISK_WRITE, bytes, flags, &done_ns);

    if (ret == 0) {
        qemu_iovec_to_buf(qiov, 0,
                          disk_store_claim(&disk->store, offset, bytes), bytes);
        request_end(disk, done_ns);
    }
    return ret;
}

static int coroutine_fn disk_co_pwrite_zeroes(BlockDriverState *bs,
                                              int64_t offset, int64_t bytes,
                                              BdrvRequestFlags flags)
{
    Disk *disk = bs->opaque;
    int64_t done_ns;
    int ret = request_begin(disk, DISK_DISCARD, bytes, flags, &done_ns);

    if (ret == 0) {
        disk_store_zero(&disk->store, offset, bytes);
        request_end(disk, done_ns);
    }
    return ret;
}

static int coroutine_fn disk_co_pdiscard(BlockDriverState *bs, int64_t offset,
                                         int64_t bytes)
{
    return disk_co_pwrite_zeroes(bs, offset, bytes, 0);
}

/*
 * Not bdrv_co_flush_to_disk, which is not called when nothing has been written
 * since the last: a flush takes its time all the same.
 */
static int coroutine_fn disk_co_flush(BlockDriverState *bs)
{
    Disk *disk = bs->opaque;
    int64_t done_ns;
    int ret = request_begin(disk, DISK_FLUSH, 0, 0, &done_ns);

    if (ret == 0) {
        request_end(disk, done_ns);
    }
    return ret;
}

static const char *const disk_strong_options[] = {
    "size",

    NULL
};

static BlockDriver disk_driver = {
    .format_name            = "ringstep",
    .protocol_name          = "ringstep",
    .instance_size          = sizeof(Disk),
    .strong_runtime_opts    = disk_strong_options,

    .bdrv_open              = disk_open,
    .bdrv_close             = disk_close,
    .bdrv_child_perm        = disk_child_perm,
    .bdrv_refresh_limits    = disk_refresh_limits,
    .bdrv_co_getlength      = disk_co_getlength,
    .bdrv_drain_begin       = disk_drain_begin,
    .bdrv_drain_end         = disk_drain_end,
    .bdrv_cancel_in_flight  = disk_cancel_in_flight,

    .bdrv_co_preadv         = disk_co_preadv,
    .bdrv_co_pwritev        = disk_co_pwritev,
    .bdrv_co_pwrite_zeroes  = disk_co_pwrite_zeroes,
    .bdrv_co_pdiscard       = disk_co_pdiscard,
    .bdrv_co_flush          = disk_co_flush,
};

static void disk_register(void)
{
    bdrv_register(&disk_driver);
}
block_init(disk_register);
