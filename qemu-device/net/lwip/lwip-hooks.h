/*
 * What lwIP calls of stack.c, beside sys_now().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#ifndef RINGSTEP_NET_LWIP_HOOKS_H
#define RINGSTEP_NET_LWIP_HOOKS_H

#include "lwip/ip_addr.h"

u32_t peer_stack_isn(const ip_addr_t *local_ip, u16_t local_port,
                     const ip_addr_t *remote_ip, u16_t remote_port);

#endif
