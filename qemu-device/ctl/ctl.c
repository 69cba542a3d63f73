/*
 * The control device: how the guest of a run talks to it
 *
 * ctl.h describes the registers and messages, marks.h and results.h where they
 * go.  Options:
 *
 *   results=PATH   the run's text file (results.h); without it, nothing is kept
 *   seed=N         the perturbation seed, for the guest to read (default: 0)
 *   queues=N       the NIC's queue pairs, for the guest to check (default: 0)
 *
 * The guest is not trusted: a message is copied before it is read, and a line
 * that is not understood sets the status register.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/cutils.h"
#include "qapi/error.h"
#include "hw/pci/pci_device.h"
#include "hw/qdev-properties.h"
#include "hw/boards.h"
#include "system/runstate.h"
#include "ringstep/lockstep/lockstep.h"
#include "ctl.h"
#include "marks.h"
#include "results.h"

#define TYPE_RINGSTEP_CTL "ringstep-ctl"
OBJECT_DECLARE_SIMPLE_TYPE(RingstepCtl, RINGSTEP_CTL)

/* instructions, local_ps, idle_ps, and NAME and NAME_ps of each event */
#define NR_COUNTERS (3 + 2 * LOCKSTEP_EVENT__MAX)

QEMU_BUILD_BUG_ON(NR_COUNTERS * 8 > RINGSTEP_REG_VALUES_STRIDE);

struct RingstepCtl {
    PCIDevice parent_obj;

    MemoryRegion regs;
    MemoryRegion message;
    uint32_t status;

    bool window;                /* between begin and end */
    uint64_t begin[LOCKSTEP_MAX_VCPUS][NR_COUNTERS];

    char *results;
    uint64_t seed;
    uint32_t queues;
};

static unsigned nr_vcpus(void)
{
    return MIN(current_machine->smp.cpus, LOCKSTEP_MAX_VCPUS);
}

static uint64_t counter_value(unsigned vcpu, unsigned i)
{
    LockstepCounters c;

    if (!lockstep_enabled()) {
        return 0;
    }
    c = lockstep_counters(vcpu);
    switch (i) {
    case 0:
        return c.instructions;
    case 1:
        return c.local_ps;
    case 2:
        return c.idle_ps;
    default:
        i -= 3;
        return i & 1 ? c.event_ps[i / 2] : c.events[i / 2];
    }
}

static void counter_name(unsigned i, char name[RINGSTEP_REG_NAMES_STRIDE])
{
    static const char *const first[] = {
        "instructions", "local_ps", "idle_ps",
    };

    memset(name, 0, RINGSTEP_REG_NAMES_STRIDE);
    if (i < ARRAY_SIZE(first)) {
        pstrcpy(name, RINGSTEP_REG_NAMES_STRIDE, first[i]);
    } else {
        i -= ARRAY_SIZE(first);
        snprintf(name, RINGSTEP_REG_NAMES_STRIDE, "%s%s",
                 lockstep_event_name(i / 2), i & 1 ? "_ps" : "");
    }
}

static void window_begin(RingstepCtl *s)
{
    s->window = true;
    for (unsigned v = 0; v < nr_vcpus(); v++) {
        for (unsigned i = 0; i < NR_COUNTERS; i++) {
            s->begin[v][i] = counter_value(v, i);
        }
    }
}

static void window_end(RingstepCtl *s)
{
    char name[RINGSTEP_REG_NAMES_STRIDE];

    s->window = false;
    for (unsigned v = 0; v < nr_vcpus(); v++) {
        for (unsigned i = 0; i < NR_COUNTERS; i++) {
            g_autofree char *full = NULL;

            counter_name(i, name);
            full = g_strdup_printf("vcpu%u_%s", v, name);
            ringstep_result_add("counter", full,
                                counter_value(v, i) - s->begin[v][i]);
        }
    }
}

/* A run ends with the request: nothing that happens later counts. */
static void run_exit(unsigned code)
{
    ringstep_marks_fire(RINGSTEP_MARK_EXIT, code);
    ringstep_result_line("exit", code);
    ringstep_results_freeze();
    if (lockstep_enabled()) {
        lockstep_freeze();
    }
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
}

static bool is_name(const char *s)
{
    size_t len = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.");

    return len >= 1 && len <= 63 && !s[len];
}

static bool is_number(const char *s)
{
    size_t whole = strspn(s, "0123456789");
    size_t part = 0;

    if (s[whole] == '.') {
        part = strspn(s + whole + 1, "0123456789");
        if (!part) {
            return false;
        }
        part++;
    }
    return whole >= 1 && whole + part <= 39 && !s[whole + part];
}

static bool is_text(const char *s)
{
    for (; *s; s++) {
        if (!g_ascii_isprint(*s)) {
            return false;
        }
    }
    return true;
}

/* A result line goes to the file as it came. */
static bool result_line(const char *line)
{
    g_auto(GStrv) word = g_strsplit(line, " ", 4);

    if (g_strv_length(word) != 3 || !is_name(word[1]) || !is_number(word[2])) {
        return false;
    }
    ringstep_result_text(line);
    return true;
}

static bool handle_line(RingstepCtl *s, const char *line)
{
    const char *arg;
    unsigned number;

    if (strstart(line, "ready ", &arg)) {
        if (qemu_strtoui(arg, NULL, 10, &number) || !number || number > 65535) {
            return false;
        }
        ringstep_marks_fire(RINGSTEP_MARK_READY, number);
    } else if (!strcmp(line, "begin")) {
        if (s->window) {
            return false;
        }
        window_begin(s);
        ringstep_marks_fire(RINGSTEP_MARK_BEGIN, 0);
    } else if (!strcmp(line, "end")) {
        if (!s->window) {
            return false;
        }
        ringstep_marks_fire(RINGSTEP_MARK_END, 0);
        window_end(s);
    } else if (strstart(line, "exit ", &arg)) {
        if (qemu_strtoui(arg, NULL, 10, &number) || number > 127) {
            return false;
        }
        run_exit(number);
    } else if (strstart(line, "metric ", NULL) ||
               strstart(line, "counter ", NULL)) {
        return result_line(line);
    } else if (strstart(line, "text ", NULL) && is_text(line)) {
        ringstep_result_text(line);
    } else {
        return false;
    }
    return true;
}

/* 0, or a negative errno */
static int handle_message(RingstepCtl *s, uint64_t len)
{
    char text[RINGSTEP_CTL_MESSAGE_SIZE + 1];
    char *line = text;
    char *end;

    if (!len || len > RINGSTEP_CTL_MESSAGE_SIZE) {
        return -EINVAL;
    }
    memcpy(text, memory_region_get_ram_ptr(&s->message), len);
    text[len] = 0;
    if (strlen(text) != len || text[len - 1] != '\n') {
        return -EINVAL;
    }
    while ((end = strchr(line, '\n'))) {
        *end = 0;
        if (!handle_line(s, line)) {
            return -EINVAL;
        }
        line = end + 1;
    }
    return 0;
}

static uint64_t read_table(hwaddr addr, unsigned size)
{
    char name[RINGSTEP_REG_NAMES_STRIDE];
    hwaddr i;

    if (addr >= RINGSTEP_REG_NAMES) {
        addr -= RINGSTEP_REG_NAMES;
        i = addr / RINGSTEP_REG_NAMES_STRIDE;
        if (i >= NR_COUNTERS) {
            return 0;
        }
        counter_name(i, name);
        return ldn_le_p(name + addr % RINGSTEP_REG_NAMES_STRIDE, size);
    }
    addr -= RINGSTEP_REG_VALUES;
    i = addr % RINGSTEP_REG_VALUES_STRIDE / 8;
    addr /= RINGSTEP_REG_VALUES_STRIDE;
    if (i >= NR_COUNTERS || addr >= nr_vcpus()) {
        return 0;
    }
    return counter_value(addr, i);
}

static uint64_t regs_read(void *opaque, hwaddr addr, unsigned size)
{
    RingstepCtl *s = opaque;

    switch (addr) {
    case RINGSTEP_REG_MAGIC:
        return RINGSTEP_CTL_MAGIC;
    case RINGSTEP_REG_VERSION:
        return RINGSTEP_CTL_VERSION;
    case RINGSTEP_REG_VCPUS:
        return nr_vcpus();
    case RINGSTEP_REG_COUNTERS:
        return NR_COUNTERS;
    case RINGSTEP_REG_SEED:
        return s->seed;
    case RINGSTEP_REG_TIME_PS:
        return lockstep_enabled() ? lockstep_now_ps()
               : qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) * 1000;
    case RINGSTEP_REG_STATUS:
        return s->status;
    case RINGSTEP_REG_LOCKSTEP:
        return lockstep_enabled();
    case RINGSTEP_REG_QUEUES:
        return s->queues;
    case RINGSTEP_REG_VALUES ... RINGSTEP_REG_SIZE - 1:
        return read_table(addr, size);
    default:
        return 0;
    }
}

static void regs_write(void *opaque, hwaddr addr, uint64_t value, unsigned size)
{
    RingstepCtl *s = opaque;

    if (addr == RINGSTEP_REG_DOORBELL && !ringstep_results_frozen()) {
        s->status = -handle_message(s, value);
    }
}

static const MemoryRegionOps regs_ops = {
    .read = regs_read,
    .write = regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 8 },
    .impl = { .min_access_size = 4, .max_access_size = 8 },
};

static void ringstep_ctl_realize(PCIDevice *pdev, Error **errp)
{
    RingstepCtl *s = RINGSTEP_CTL(pdev);

    if (!memory_region_init_ram(&s->message, OBJECT(s), "ringstep-message",
                                RINGSTEP_CTL_MESSAGE_SIZE, errp)) {
        return;
    }
    memory_region_init_io(&s->regs, OBJECT(s), &regs_ops, s,
                          "ringstep-ctl", RINGSTEP_REG_SIZE);
    pci_register_bar(pdev, 0, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->regs);
    pci_register_bar(pdev, 1, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->message);
    if (s->results) {
        ringstep_results_open(s->results);
    }
}

static const Property ringstep_ctl_properties[] = {
    DEFINE_PROP_STRING("results", RingstepCtl, results),
    DEFINE_PROP_UINT64("seed", RingstepCtl, seed, 0),
    DEFINE_PROP_UINT32("queues", RingstepCtl, queues, 0),
};

static void ringstep_ctl_class_init(ObjectClass *klass, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);

    dc->desc = "ringstep's control device";
    dc->hotpluggable = false;
    set_bit(DEVICE_CATEGORY_MISC, dc->categories);
    device_class_set_props(dc, ringstep_ctl_properties);
    k->realize = ringstep_ctl_realize;
    k->vendor_id = RINGSTEP_CTL_VENDOR;
    k->device_id = RINGSTEP_CTL_DEVICE;
    k->class_id = PCI_CLASS_OTHERS;
}

static const TypeInfo ringstep_ctl_info = {
    .name = TYPE_RINGSTEP_CTL,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(RingstepCtl),
    .class_init = ringstep_ctl_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_CONVENTIONAL_PCI_DEVICE },
        { },
    },
};

static void ringstep_ctl_register_types(void)
{
    type_register_static(&ringstep_ctl_info);
}
type_init(ringstep_ctl_register_types)
