// A program that uses NVIDIA's extensions of NVTX, payload schemas and
// counters, and knows nothing of TraceSmith. checks/capture.sh records it.
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define ENTRY(fl, ty, na, de, off) \
    { \
        .flags = fl, .type = ty, .name = na, .arrayOrUnionDetail = de, \
        .offset = off \
    }
#define COUNT(array) (sizeof(array) / sizeof *(array))

static nvtxDomainHandle_t domain;

static uint64_t schema_of(const char *name, uint64_t type, uint64_t flags,
                          const nvtxPayloadSchemaEntry_t *entries, size_t count,
                          size_t size, uint64_t id)
{
    nvtxPayloadSchemaAttr_t a;
    memset(&a, 0, sizeof a);
    a.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE |
                  NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    a.name = name;
    a.type = type;
    a.flags = flags;
    a.entries = entries;
    a.numEntries = count;
    a.payloadStaticSize = size;
    a.schemaId = id;
    return nvtxPayloadSchemaRegister(domain, &a);
}

static void push(const char *name, uint64_t schema, const void *bytes,
                 size_t size)
{
    const nvtxPayloadData_t data = { schema, size, bytes };
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = name;
    a.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    a.reserved0 = 1; // payloads
    a.payload.ullValue = (uint64_t)(uintptr_t)&data;
    nvtxDomainRangePushEx(domain, &a);
    nvtxDomainRangePop(domain);
}

/* ---- Schemas ------------------------------------------------------------ */

typedef struct peer {
    uint8_t local;
    int32_t rank;
} peer;

typedef struct collective {
    uint64_t bytes;
    int8_t kind;
    int16_t dims[3];
    float scale;
    double weight;
    const char *text;
    char label[8];
    peer to;
    nvtxStringHandle_t registered;
} collective;

static void use_static(void)
{
    static const nvtxPayloadSchemaEntry_t of_peer[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "local", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "rank", 0, 0),
    };
    static const nvtxPayloadEnum_t kinds[] = { { "sum", 1, 0 },
                                               { "max", -3, 0 } };
    static const nvtxPayloadEnumAttr_t kind = {
        .fieldMask = NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES |
                     NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE,
        .entries = kinds,
        .numEntries = COUNT(kinds),
        .sizeOfEnum = 1
    };
    const uint64_t peers = schema_of("peer", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 0,
                                     of_peer, COUNT(of_peer), sizeof(peer), 0);
    const uint64_t kind_id = nvtxPayloadEnumRegister(domain, &kind);
    const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT64, "bytes", 0, 0),
        ENTRY(0, kind_id, "kind", 0, offsetof(collective, kind)),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
              NVTX_PAYLOAD_ENTRY_TYPE_INT16, "dims", 3, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "scale", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, "weight", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "text", 0, 0),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE,
              NVTX_PAYLOAD_ENTRY_TYPE_CHAR, "label", 8, 0),
        ENTRY(0, peers, "to", 0, offsetof(collective, to)),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "by", 0,
              offsetof(collective, registered)),
    };
    const uint64_t id =
        schema_of("collective", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 0, entries,
                  COUNT(entries), sizeof(collective), 1 << 25);
    const collective c = {
        1 << 20,    1,         { 2, -3, 4 },
        0.5f,       -2.25,     "a text",
        "eight ch", { 1, -7 }, nvtxDomainRegisterStringA(domain, "registered")
    };
    push("static", id, &c, sizeof c);
    push("short", id, &c, 10); // what is not there is not read
}

typedef struct message {
    nvtxStringHandle_t name;
    uint32_t value;
} message;

static void use_dynamic(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "count", 0, 0),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX,
              NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "sizes", 0, 0),
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED,
              NVTX_PAYLOAD_ENTRY_TYPE_CHAR, "name", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT8, "last", 0, 0),
    };
    static const struct {
        uint32_t count, sizes[2];
        char rest[5];
    } bytes = { 2,
                { 10, 20 },
                "abc"
                "\0"
                "\x09" };
    const uint64_t id = schema_of("dynamic", NVTX_PAYLOAD_SCHEMA_TYPE_DYNAMIC,
                                  0, entries, COUNT(entries), 0, 0);
    push("dynamic", id, &bytes, 17);
}

static void use_union(void)
{
    static const nvtxPayloadSchemaEntry_t members[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "whole", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_FLOAT, "real", 0, 0),
    };
    const uint64_t either = schema_of("either", NVTX_PAYLOAD_SCHEMA_TYPE_UNION,
                                      0, members, COUNT(members), 4, 0);
    const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "which", 0, 0),
        ENTRY(0, either, "value", 0, 4),
    };
    const uint64_t id = schema_of("selected", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                                  0, entries, COUNT(entries), 8, 0);
    struct {
        uint32_t which;
        float value;
    } bytes = { 1, 1.5f };
    push("union", id, &bytes, sizeof bytes);
}

static void use_predefined(void)
{
    static const double numbers[] = { 0.5, 1.5 };
    push("numbers", NVTX_PAYLOAD_ENTRY_TYPE_DOUBLE, numbers, sizeof numbers);
    push("a text", NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, "of the payload", 14);
    push("unknown", 12345, numbers, sizeof numbers);
}

static void use_payload_calls(void)
{
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE,
              NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE, "name", 0,
              0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_UINT32, "value", 0, 0),
    };
    const uint64_t id = schema_of("said", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC, 0,
                                  entries, COUNT(entries), sizeof(message), 0);
    const message m = { nvtxDomainRegisterStringA(domain, "named"), 42 };
    const nvtxPayloadData_t data = { id, sizeof m, &m };
    nvtxMarkPayload(domain, &data, 1);
    nvtxRangePushPayload(domain, &data, 1);
    nvtxRangePopPayload(domain, &data, 1);
    const nvtxRangeId_t range = nvtxRangeStartPayload(domain, &data, 1);
    nvtxRangeEndPayload(domain, range, &data, 1);
}

static void use_counters(void)
{
    static const nvtxSemanticsCounter_t unit = {
        .header = { sizeof unit, NVTX_SEMANTIC_ID_COUNTERS_V1,
                    NVTX_COUNTER_SEMANTIC_VERSION, NULL },
        .unit = "W"
    };
    static const nvtxPayloadSchemaEntry_t entries[] = {
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "read", 0, 0),
        ENTRY(0, NVTX_PAYLOAD_ENTRY_TYPE_INT32, "written", 0, 0),
    };
    nvtxCounterAttr_t a = { .structSize = sizeof a,
                            .schemaId = NVTX_PAYLOAD_ENTRY_TYPE_INT64,
                            .name = "power",
                            .semantics = &unit.header };
    const uint64_t power = nvtxCounterRegister(domain, &a);
    nvtxCounterSampleInt64(domain, power, 250);
    nvtxCounterSampleFloat64(domain, power, 251.5);
    nvtxCounterSampleNoValue(domain, power, NVTX_COUNTER_SAMPLE_UNAVAILABLE);
    a.schemaId = schema_of("bytes", NVTX_PAYLOAD_SCHEMA_TYPE_STATIC,
                           NVTX_PAYLOAD_SCHEMA_FLAG_COUNTER_GROUP, entries,
                           COUNT(entries), 8, 0);
    a.name = "bytes";
    a.semantics = NULL;
    const uint64_t bytes = nvtxCounterRegister(domain, &a);
    static const int32_t sample[] = { 7, -8 };
    nvtxCounterSample(domain, bytes, sample, sizeof sample);
    nvtxCounterSampleInt64(domain, 99, 1); // of nobody
}

int main(void)
{
    nvtxEventAttributes_t a;
    domain = nvtxDomainCreateA("lib");
    if (!nvtxDomainIsEnabled(domain)) puts("not enabled");
    use_static();
    use_dynamic();
    use_union();
    use_predefined();
    use_payload_calls();
    use_counters();
    memset(&a, 0, sizeof a); // a mark with a plain number
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    a.payload.llValue = -5;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = "valued mark";
    nvtxDomainMarkEx(domain, &a);
    puts("done");
    return 0;
}
