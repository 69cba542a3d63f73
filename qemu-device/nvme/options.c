/*
 * The disk's options.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-types-block-core.h"
#include "qapi/qapi-visit-block-core.h"
#include "qapi/qobject-input-visitor.h"
#include "qobject/qdict.h"
#include "block/qdict.h"
#include "qemu/units.h"
#include "ringstep/nvme/options.h"
#include "ringstep/nvme/store.h"

/* An option that is a number of the model's */
typedef struct ModelOption {
    const char *name;           /* with _ in place of - */
    size_t given;               /* of a bool in BlockdevOptionsRingstep, */
    size_t value;               /* and of an uint64_t there */
    size_t field;               /* of an int64_t in DiskModelConfig */
    uint64_t least, most;
    int64_t initial[RINGSTEP_DISK_MODEL__MAX];
} ModelOption;

#define OPTION(option, field, least, most, constant, ssd) \
    { #option, offsetof(BlockdevOptionsRingstep, has_ ## option), \
      offsetof(BlockdevOptionsRingstep, option), \
      offsetof(DiskModelConfig, field), least, most, { constant, ssd } }

/* Zero is no default of these: the other model has no such thing */
#define NOT_THERE (-1)

/*
 * Where the defaults come from:
 *
 * constant  Intel Optane DC P4800X.  Specification: 550,000 reads and 500,000
 *           writes of 4 KiB a second, either below 10 us.  Review in AnandTech,
 *           April 2017: a read takes 9 us at depth 1.  With 5 channels of 9
 *           and 10 us it is 555,000 and 500,000.
 * ssd       Samsung 970 EVO Plus 1 TB, data sheet: 19,000 reads of 4 KiB a
 *           second at depth 1 and 600,000 at 32, 60,000 writes at depth 1,
 *           3,300 MB/s when writing.  The host's part of each is assumed to be
 *           2 us.  Spread: that review's Intel P3700, where half of the reads
 *           take 76 us or less and 99 of 100 take 96.
 * both      assumed: stripe, flush, discard, buffer, garbage collection
 */
static const ModelOption model_options[] = {
    OPTION(channels, channels, 1, DISK_MAX_CHANNELS, 5, 32),
    OPTION(stripe, stripe, DISK_SECTOR, DISK_MAX_BYTES, 4 * KiB, 4 * KiB),
    OPTION(read_ns, op_ns[DISK_READ], 0, DISK_MAX_OP_NS, 9000, 50000),
    OPTION(write_ns, op_ns[DISK_WRITE], 0, DISK_MAX_OP_NS, 10000, 15000),
    OPTION(discard_ns, op_ns[DISK_DISCARD], 0, DISK_MAX_OP_NS, 10000, 15000),
    OPTION(flush_ns, op_ns[DISK_FLUSH], 0, DISK_MAX_OP_NS, 1000, 10000),
    OPTION(read_byte_ps, byte_ps[DISK_READ], 0, DISK_MAX_BYTE_PS, 0, 0),
    OPTION(write_byte_ps, byte_ps[DISK_WRITE], 0, DISK_MAX_BYTE_PS, 0, 0),
    OPTION(discard_byte_ps, byte_ps[DISK_DISCARD], 0, DISK_MAX_BYTE_PS, 0, 0),
    OPTION(spread_percent, spread_percent, 0, 100, NOT_THERE, 7),
    OPTION(buffer, buffer, DISK_SECTOR, DISK_MAX_BYTES, NOT_THERE, 16 * MiB),
    OPTION(drain_byte_ps, drain_byte_ps, 0, DISK_MAX_BYTE_PS, NOT_THERE, 303),
    OPTION(gc_bytes, gc_bytes, 0, DISK_MAX_BYTES, NOT_THERE, 64 * MiB),
    OPTION(gc_ns, gc_ns, 0, DISK_MAX_OP_NS, NOT_THERE, 1000000),
};

static BlockdevOptionsRingstep *visit_options(QDict *options, Error **errp)
{
    BlockdevOptionsRingstep *visited = NULL;
    Visitor *v = qobject_input_visitor_new_flat_confused(options, errp);

    if (!v) {
        return NULL;
    }
    visit_type_BlockdevOptionsRingstep(v, NULL, &visited, errp);
    visit_free(v);
    return visited;
}

static void empty(QDict *dict)
{
    const QDictEntry *e;

    while ((e = qdict_first(dict))) {
        qdict_del(dict, e->key);
    }
}

static bool take_option(const ModelOption *option,
                        const BlockdevOptionsRingstep *given,
                        RingstepDiskModel kind, DiskModelConfig *config,
                        Error **errp)
{
    int64_t initial = option->initial[kind];
    int64_t *field = (void *)config + option->field;
    uint64_t value = *(uint64_t *)((void *)given + option->value);
    g_autofree char *name = g_strdelimit(g_strdup(option->name), "_", '-');

    if (!*(bool *)((void *)given + option->given)) {
        *field = MAX(initial, 0);
        return true;
    }
    if (initial == NOT_THERE) {
        error_setg(errp, "ringstep: the model '%s' has no %s",
                   RingstepDiskModel_str(kind), name);
        return false;
    }
    if (value < option->least || value > option->most) {
        error_setg(errp, "ringstep: %s must be %" PRIu64 " to %" PRIu64
                   ", not %" PRIu64, name, option->least, option->most, value);
        return false;
    }
    *field = value;
    return true;
}

/* What no single option shows */
static bool check_model(const DiskModelConfig *config, Error **errp)
{
    if (config->buffer && config->buffer < config->stripe) {
        error_setg(errp, "ringstep: the buffer of %" PRId64 " bytes has no "
                   "room for a stripe of %" PRId64, config->buffer,
                   config->stripe);
        return false;
    }
    if (config->gc_bytes && config->gc_bytes < config->stripe) {
        error_setg(errp, "ringstep: gc-bytes of %" PRId64 " is less than a "
                   "stripe of %" PRId64, config->gc_bytes, config->stripe);
        return false;
    }
    return true;
}

static bool take_options(const BlockdevOptionsRingstep *given, DiskOptions *o,
                         Error **errp)
{
    RingstepDiskModel kind = given->has_model ? given->model :
                             RINGSTEP_DISK_MODEL_CONSTANT;

    if (given->has_size && (given->size == 0 || given->size % DISK_SECTOR ||
                            given->size > DISK_MAX_BYTES)) {
        error_setg(errp, "ringstep: size must be a multiple of %d up to %"
                   PRId64 ", not %" PRIu64, DISK_SECTOR, DISK_MAX_BYTES,
                   given->size);
        return false;
    }
    o->size = given->has_size ? given->size : 0;
    o->model.seed = given->has_seed ? given->seed : 1;
    for (int i = 0; i < ARRAY_SIZE(model_options); i++) {
        if (!take_option(&model_options[i], given, kind, &o->model, errp)) {
            return false;
        }
    }
    return check_model(&o->model, errp);
}

bool disk_options_absorb(QDict *options, DiskOptions *o, Error **errp)
{
    BlockdevOptionsRingstep *given = visit_options(options, errp);
    bool ok;

    if (!given) {
        return false;
    }
    empty(options);
    ok = take_options(given, o, errp);
    qapi_free_BlockdevOptionsRingstep(given);
    return ok;
}
