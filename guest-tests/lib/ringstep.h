/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control device as the guest's programs see it: lines of text go out (marks,
 * results, the exit code), a page of text comes back (seed, CPUs, time, counters).
 *
 * The way is /dev/ringstep, or where the kernel has no driver for it the device's PCI
 * resource files in sysfs. RINGSTEP_DEVICE=driver, =sysfs or =none in the environment
 * leaves no other choice. All functions return 0 (or a count) or a negative errno;
 * -ENODEV: this machine has no control device.
 */
#ifndef RINGSTEP_H
#define RINGSTEP_H

#include <stddef.h>
#include <stdint.h>

#define RINGSTEP_MESSAGE_MAX	4096

/* The next call opens the device anew. */
void ringstep_close(void);

/* Passes whole lines, each ended by a newline, to the device. */
int ringstep_write(const char *lines, size_t length);

/* One line, formatted; the newline is added. */
[[gnu::format(printf, 1, 2)]]
int ringstep_line(const char *format, ...);

/*
 * A result of the run, "metric NAME VALUE" or "counter NAME VALUE". On a machine
 * without a control device it is printed.
 */
void ringstep_metric(const char *name, uint64_t value);
void ringstep_counter(const char *name, uint64_t value);

/* The device's state as lines "NAME VALUE", ended by a NUL. Returns the length. */
int ringstep_read(char *text, size_t size);

/* Finds NAME in such lines: in ringstep_read()'s, or in /proc/ringstep_io_uring. */
int ringstep_lookup(const char *text, const char *name, uint64_t *value);

#endif
