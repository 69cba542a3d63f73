/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's names for what it and these programs have in common. */
#ifndef RINGSTEP_COMPILER_H
#define RINGSTEP_COMPILER_H

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))

#endif
