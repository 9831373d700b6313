// The parts of NVTX's interface that ts_nvtx.h declares for itself, against
// NVIDIA's own declarations. Compiled only, where these are installed.
#define _GNU_SOURCE
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCounters.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtSemanticsCounters.h>
#include <nvtx3/nvToolsExtSync.h>

#define TRACESMITH_NVTX_IMPLEMENTATION
#include "backends/ts_nvtx.h"

#define SAME(ours, theirs, a, b) \
    _Static_assert(offsetof(ours, a) == offsetof(theirs, b) && \
                       sizeof((ours *)0)->a == sizeof((theirs *)0)->b, \
                   #a)
typedef ts__nv_attributes ours;
typedef nvtxEventAttributes_t theirs;
_Static_assert(sizeof(ours) == sizeof(theirs), "attributes");
SAME(ours, theirs, version, version);
SAME(ours, theirs, size, size);
SAME(ours, theirs, category, category);
SAME(ours, theirs, color_type, colorType);
SAME(ours, theirs, color, color);
SAME(ours, theirs, payload_type, payloadType);
SAME(ours, theirs, payload, payload);
SAME(ours, theirs, message_type, messageType);
SAME(ours, theirs, message, message);

typedef ts__nv_lock_attributes our_lock;
typedef nvtxSyncUserAttributes_t their_lock;
_Static_assert(sizeof(our_lock) == sizeof(their_lock), "lock");
SAME(our_lock, their_lock, message_type, messageType);
SAME(our_lock, their_lock, message, message);

SAME(ts__nv_callbacks, NvtxExportTableCallbacks, module_table,
     GetModuleFunctionTable);
SAME(ts__nv_version, NvtxExportTableVersionInfo, set_handler_version,
     SetInjectionNvtxVersion);

#define VALUE(ours, theirs) _Static_assert((int)ours == (int)theirs, #theirs)
VALUE(TS__NV_COLOR_ARGB, NVTX_COLOR_ARGB);
VALUE(TS__NV_U64, NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
VALUE(TS__NV_I64, NVTX_PAYLOAD_TYPE_INT64);
VALUE(TS__NV_F64, NVTX_PAYLOAD_TYPE_DOUBLE);
VALUE(TS__NV_U32, NVTX_PAYLOAD_TYPE_UNSIGNED_INT32);
VALUE(TS__NV_I32, NVTX_PAYLOAD_TYPE_INT32);
VALUE(TS__NV_F32, NVTX_PAYLOAD_TYPE_FLOAT);
VALUE(TS__NV_ASCII, NVTX_MESSAGE_TYPE_ASCII);
VALUE(TS__NV_UNICODE, NVTX_MESSAGE_TYPE_UNICODE);
VALUE(TS__NV_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
VALUE(-2, NVTX_NO_PUSH_POP_TRACKING);

#define COUNT(list, size) \
    _Static_assert(sizeof(list) / sizeof *(list) + 1 == (size_t)(size), #size)
COUNT(ts__nv_core, NVTX_CBID_CORE_SIZE);
COUNT(ts__nv_cuda, NVTX_CBID_CUDA_SIZE);
COUNT(ts__nv_opencl, NVTX_CBID_OPENCL_SIZE);
COUNT(ts__nv_cudart, NVTX_CBID_CUDART_SIZE);
COUNT(ts__nv_core2, NVTX_CBID_CORE2_SIZE);
COUNT(ts__nv_sync, NVTX_CBID_SYNC_SIZE);

#define WHOLE(ours, theirs) \
    _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
WHOLE(ts__nv_data, nvtxPayloadData_t);
SAME(ts__nv_data, nvtxPayloadData_t, bytes, payload);
WHOLE(ts__nv_entry, nvtxPayloadSchemaEntry_t);
SAME(ts__nv_entry, nvtxPayloadSchemaEntry_t, detail, arrayOrUnionDetail);
SAME(ts__nv_entry, nvtxPayloadSchemaEntry_t, offset, offset);
WHOLE(ts__nv_schema_attributes, nvtxPayloadSchemaAttr_t);
SAME(ts__nv_schema_attributes, nvtxPayloadSchemaAttr_t, count, numEntries);
SAME(ts__nv_schema_attributes, nvtxPayloadSchemaAttr_t, align, packAlign);
SAME(ts__nv_schema_attributes, nvtxPayloadSchemaAttr_t, id, schemaId);
WHOLE(ts__nv_enum_value, nvtxPayloadEnum_t);
SAME(ts__nv_enum_value, nvtxPayloadEnum_t, is_flag, isFlag);
WHOLE(ts__nv_enum_attributes, nvtxPayloadEnumAttr_t);
SAME(ts__nv_enum_attributes, nvtxPayloadEnumAttr_t, size, sizeOfEnum);
SAME(ts__nv_enum_attributes, nvtxPayloadEnumAttr_t, id, schemaId);
WHOLE(ts__nv_counter_attributes, nvtxCounterAttr_t);
SAME(ts__nv_counter_attributes, nvtxCounterAttr_t, semantics, semantics);
SAME(ts__nv_counter_attributes, nvtxCounterAttr_t, id, counterId);
SAME(ts__nv_counter_semantics, nvtxSemanticsCounter_t, unit, unit);
WHOLE(ts__nv_module, nvtxExtModuleInfo_t);
SAME(ts__nv_module, nvtxExtModuleInfo_t, segments, segments);
WHOLE(ts__nv_segment, nvtxExtModuleSegment_t);

VALUE(TS__NV_EXT, NVTX_PAYLOAD_TYPE_EXT);
VALUE(TS__NV_BY_ENTRY, NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX);
VALUE(TS__NV_DEEP, NVTX_PAYLOAD_ENTRY_FLAG_DEEP_COPY);
VALUE(TS__NV_HIDE, NVTX_PAYLOAD_ENTRY_FLAG_HIDE);
VALUE(TS__NV_MESSAGE, NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE);
VALUE(TS__NV_UNION_SELF, NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR);
VALUE(TS__NV_HAS_COUNT, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES);
VALUE(TS__NV_HAS_ID, NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
VALUE(TS__NV_ENUM_ID, NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
VALUE(75, NVTX_PAYLOAD_ENTRY_TYPE_CSTRING);
VALUE(80, NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
VALUE(100, NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR);
VALUE(5, NVTX_SEMANTIC_ID_COUNTERS_V1);
VALUE(17, NVTX3EXT_CBID_nvtxEventBatchSubmit);
VALUE(5, NVTX3EXT_CBID_nvtxCounterBatchSubmit);
