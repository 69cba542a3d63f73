/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The switches and the counters that ringstep's kernel has in io_uring. */
#ifndef RINGSTEP_KERNEL_H
#define RINGSTEP_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_COUNTERS	"/proc/ringstep_io_uring"

/* Does this kernel have the counters and all switches? */
bool kernel_is_ours(void);

/* Sets a switch; false where the kernel has none of the name, or does not take the value. */
bool kernel_set(const char *name, const char *value);

/* Is that the beginning of the switch's value? */
bool kernel_reads(const char *name, const char *value);

/* All counters, for ringstep_lookup(); an empty text where the kernel has none. */
void kernel_counters(char *text, size_t size);

#endif
