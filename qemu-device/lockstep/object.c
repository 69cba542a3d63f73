/*
 * Lockstep: -object lockstep
 *
 * The object puts the machine into lockstep mode and holds its costs; the
 * options are described in the QAPI schema, at LockstepProperties.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object.h"
#include "qom/object_interfaces.h"
#include "state.h"

#define TYPE_LOCKSTEP "lockstep"
OBJECT_DECLARE_SIMPLE_TYPE(Lockstep, LOCKSTEP)

struct Lockstep {
    Object parent_obj;
};

/* An option, all of them integers; see LockstepProperties in qapi/qom.json. */
typedef struct LockstepOption {
    const char *name;
    int64_t *value;
    int64_t initial;
    int64_t least;
    int64_t most;
} LockstepOption;

/* An event that takes longer than this is a mistake in the profile. */
#define MOST_EVENT_PS (INT64_C(1000) * 1000 * 1000)         /* 1 ms */

/* A page: longer ones would keep vCPUs apart for more than a quantum. */
#define MOST_STRING_BYTES 4096

#define EVENT_OPTION(name, event) \
    { name "-ps", &lockstep.cost_ps[event], 0, 0, MOST_EVENT_PS }

static int64_t quantum;

static const LockstepOption options[] = {
    { "quantum", &quantum, 200, 1, LOCKSTEP_MAX_SLICE / 2 },
    { "insn-ps", &lockstep.insn_ps, 500, 1, 1000 * 1000 },
    EVENT_OPTION("mmio", LOCKSTEP_MMIO),
    EVENT_OPTION("pio", LOCKSTEP_PIO),
    EVENT_OPTION("apic", LOCKSTEP_APIC),
    EVENT_OPTION("interrupt", LOCKSTEP_INTERRUPT),
    EVENT_OPTION("ipi", LOCKSTEP_IPI),
    EVENT_OPTION("hlt", LOCKSTEP_HLT),
    EVENT_OPTION("wake", LOCKSTEP_WAKE),
    EVENT_OPTION("pause", LOCKSTEP_PAUSE),
    EVENT_OPTION("syscall", LOCKSTEP_SYSCALL),
    EVENT_OPTION("switch", LOCKSTEP_SWITCH),
    EVENT_OPTION("fault", LOCKSTEP_FAULT),
    EVENT_OPTION("division", LOCKSTEP_DIVISION),
    EVENT_OPTION("string", LOCKSTEP_STRING),
    { "string-bytes", &lockstep.string_bytes, 1, 1, MOST_STRING_BYTES },
    EVENT_OPTION("locked", LOCKSTEP_LOCKED),
    EVENT_OPTION("line-upgrade", LOCKSTEP_LINE_UPGRADE),
    EVENT_OPTION("line-read", LOCKSTEP_LINE_READ),
    EVENT_OPTION("line-write", LOCKSTEP_LINE_WRITE),
    { "ipi-latency-ps", &lockstep.ipi_latency_ps, 0, 0, MOST_EVENT_PS },
    { "limit-ns", &lockstep.limit_ns, 0, 0, INT64_MAX / 1000 },
};

static void option_get(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    const LockstepOption *option = opaque;

    visit_type_int64(v, name, option->value, errp);
}

static void option_set(Object *obj, Visitor *v, const char *name,
                       void *opaque, Error **errp)
{
    const LockstepOption *option = opaque;
    int64_t value;

    if (lockstep.nr_vcpus) {
        error_setg(errp, "lockstep: '%s' cannot change in a running machine",
                   name);
        return;
    }
    if (!visit_type_int64(v, name, &value, errp)) {
        return;
    }
    if (value < option->least || value > option->most) {
        error_setg(errp, "lockstep: '%s' is %" PRId64 "; it must be from %"
                   PRId64 " to %" PRId64, name, value, option->least,
                   option->most);
        return;
    }
    *option->value = value;
}

static void lockstep_complete(UserCreatable *uc, Error **errp)
{
    if (lockstep.nr_vcpus) {
        error_setg(errp, "lockstep: the machine has been started already");
        return;
    }
    if (icount_enabled()) {
        error_setg(errp, "lockstep: there is one already");
        return;
    }
    if (!is_power_of_2(lockstep.string_bytes)) {
        error_setg(errp, "lockstep: 'string-bytes' is %" PRId64 "; it must be "
                   "a power of two", lockstep.string_bytes);
        return;
    }
    lockstep.quantum_ps = quantum * lockstep.insn_ps;
    use_icount = ICOUNT_LOCKSTEP;
}

static bool lockstep_can_be_deleted(UserCreatable *uc)
{
    return false;
}

static void lockstep_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = lockstep_complete;
    ucc->can_be_deleted = lockstep_can_be_deleted;

    for (int i = 0; i < ARRAY_SIZE(options); i++) {
        *options[i].value = options[i].initial;
        object_class_property_add(oc, options[i].name, "int",
                                  option_get, option_set, NULL,
                                  (void *)&options[i]);
    }
}

static const TypeInfo lockstep_info = {
    .name = TYPE_LOCKSTEP,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(Lockstep),
    .class_init = lockstep_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void lockstep_register_types(void)
{
    type_register_static(&lockstep_info);
}
type_init(lockstep_register_types)
