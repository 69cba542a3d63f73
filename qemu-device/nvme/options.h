/*
 * The disk's options, as BlockdevOptionsRingstep in the QAPI schema has them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NVME_OPTIONS_H
#define RINGSTEP_NVME_OPTIONS_H

#include "ringstep/nvme/model.h"

typedef struct DiskOptions {
    int64_t size;               /* 0: not given */
    DiskModelConfig model;
} DiskOptions;

/*
 * Takes all that is in @options.  False with an error when something is
 * unknown or unreasonable.
 */
bool disk_options_absorb(QDict *options, DiskOptions *o, Error **errp);

#endif
