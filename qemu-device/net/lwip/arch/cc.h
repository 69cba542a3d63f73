/*
 * lwIP's view of compiler and platform.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_LWIP_CC_H
#define RINGSTEP_NET_LWIP_CC_H

#include <stdint.h>
#include "qemu/compiler.h"

#undef BYTE_ORDER
#if HOST_BIG_ENDIAN
#define BYTE_ORDER BIG_ENDIAN
#else
#define BYTE_ORDER LITTLE_ENDIAN
#endif

/*
 * The guest can send anything.  An assertion that fails must not take QEMU
 * down, nor may lwIP go on: it does not return (see stack.c).
 */
void peer_stack_fault(const char *message, const char *file, int line)
    __attribute__((noreturn));
uint32_t peer_stack_rand(void);

#define LWIP_PLATFORM_DIAG(x)   do { } while (0)
#define LWIP_PLATFORM_ASSERT(x) peer_stack_fault(x, __FILE__, __LINE__)
#define LWIP_RAND()             peer_stack_rand()

#endif
