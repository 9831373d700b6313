/*
    nvtx/extension.h - the functions of payloads and counters, by their
    slots

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
*/
#ifndef TS__NVTX_EXTENSION_H
#define TS__NVTX_EXTENSION_H

#include "counters.h"
#include "payload.h"
#include "payload_events.h"
#include "tables.h"

#include <stddef.h>
#include <stdint.h>

// Indexed by slot; NULL: calls of the program are ignored.
static const ts__nv_function ts__nv_payload_slots[] = {
    TS__NV(SchemaRegister),
    TS__NV(EnumRegister),
    TS__NV(MarkPayload),
    TS__NV(RangePushPayload),
    TS__NV(RangePopPayload),
    TS__NV(RangeStartPayload),
    TS__NV(RangeEndPayload),
    TS__NV(DomainIsEnabled),
    TS__NV(TimestampGet),
    TS__NV(TimeDomainRegister),
    NULL,
    NULL,
    TS__NV(ScopeRegister),
    NULL,
    NULL,
    NULL,
    TS__NV(EventSubmit),
    TS__NV(EventBatchSubmit)
};
static const ts__nv_function ts__nv_counter_slots[] = {
    TS__NV(CounterRegister),      TS__NV(CounterSampleInt64),
    TS__NV(CounterSampleFloat64), TS__NV(CounterSample),
    TS__NV(CounterSampleNoValue), TS__NV(CounterBatchSubmit)
};

int ts_nvtx_extension(void *module_info)
{
    const ts__nv_module *const module = (const ts__nv_module *)module_info;
    if (!module || module->size < sizeof *module || !module->segments ||
        !module->segment_count)
        return 0;
    const ts__nv_function *slots = NULL;
    size_t count = 0;
    if (module->module == 2) {
        slots = ts__nv_payload_slots;
        count = sizeof ts__nv_payload_slots / sizeof *slots;
    } else if (module->module == 4) {
        slots = ts__nv_counter_slots;
        count = sizeof ts__nv_counter_slots / sizeof *slots;
    }
    const ts__nv_segment *const segment = &module->segments[0];
    for (size_t i = 0; i < count && i < segment->count; i++)
        if (slots[i]) segment->slots[i] = (intptr_t)slots[i];
    return count != 0;
}

#endif // TS__NVTX_EXTENSION_H
