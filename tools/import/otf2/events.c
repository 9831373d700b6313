/*
    events.c - the events of an archive that are kept, in a child
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2
#define U    __attribute__((unused))
#define HEAD OTF2_TimeStamp time, U uint64_t position, void *user
#define LIST OTF2_AttributeList *list

static OTF2_CallbackCode put(otf2_child *c, otf2_record r)
{
    return otf2_put(c, r, NULL, 0) ? OTF2_CALLBACK_SUCCESS
                                   : OTF2_CALLBACK_INTERRUPT;
}

// The bits of a value of a type.
static uint64_t bits_of(OTF2_Type type, OTF2_AttributeValue value)
{
    const double real = type == OTF2_TYPE_FLOAT ? (double)value.float32 : 0;
    uint64_t bits;
    switch (type) {
    case OTF2_TYPE_UINT8: return value.uint8;
    case OTF2_TYPE_UINT16: return value.uint16;
    case OTF2_TYPE_UINT32: return value.uint32;
    case OTF2_TYPE_INT8: return (uint64_t)(int64_t)value.int8;
    case OTF2_TYPE_INT16: return (uint64_t)(int64_t)value.int16;
    case OTF2_TYPE_INT32: return (uint64_t)(int64_t)value.int32;
    case OTF2_TYPE_FLOAT: memcpy(&bits, &real, sizeof bits); return bits;
    case OTF2_TYPE_STRING: return value.stringRef;
    case OTF2_TYPE_REGION: return value.regionRef;
    case OTF2_TYPE_UINT64:
    case OTF2_TYPE_INT64:
    case OTF2_TYPE_DOUBLE:
    case OTF2_TYPE_LOCATION: return value.uint64;
    default: return value.uint32; // numbers of other definitions
    }
}

// A record in front of the event for each attribute; they use up no budget.
static void put_list(otf2_child *c, const OTF2_AttributeList *list)
{
    const uint32_t count = OTF2_AttributeList_GetNumberOfElements(list);
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeRef attribute;
        OTF2_Type type;
        OTF2_AttributeValue value;
        if (OTF2_AttributeList_GetAttributeByIndex(list, i, &attribute, &type,
                                                   &value))
            return;
        c->budget++;
        put(c, (otf2_record){ .kind = OTF2_ARG,
                              .v = { attribute, type, bits_of(type, value) } });
    }
}

#define PUT(k, ...) \
    (put_list(user, list), \
     put(user, (otf2_record){ \
                   .kind = OTF2_##k, .time = time, .v = { __VA_ARGS__ } }))

static OTF2_CallbackCode take_enter(U OTF2_LocationRef at, HEAD, LIST,
                                    OTF2_RegionRef region)
{
    return PUT(ENTER, region);
}

static OTF2_CallbackCode take_leave(U OTF2_LocationRef at, HEAD, LIST,
                                    OTF2_RegionRef region)
{
    return PUT(LEAVE, region);
}

static OTF2_CallbackCode take_context_enter(U OTF2_LocationRef at, HEAD, LIST,
                                            OTF2_CallingContextRef context,
                                            U uint32_t distance)
{
    return PUT(ENTER, context, 1);
}

static OTF2_CallbackCode take_context_leave(U OTF2_LocationRef at, HEAD, LIST,
                                            OTF2_CallingContextRef context)
{
    return PUT(LEAVE, context, 1);
}

static OTF2_CallbackCode take_metric(U OTF2_LocationRef at, HEAD, LIST,
                                     OTF2_MetricRef metric, uint8_t count,
                                     const OTF2_Type *types,
                                     const OTF2_MetricValue *values)
{
    OTF2_CallbackCode code = OTF2_CALLBACK_SUCCESS;
    put_list(user, list);
    for (uint8_t i = 0; i < count && code == OTF2_CALLBACK_SUCCESS; i++)
        code = put(user, (otf2_record){ .kind = OTF2_METRIC,
                                        .time = time,
                                        .v = { metric, i, types[i],
                                               values[i].unsigned_int } });
    return code;
}

static OTF2_CallbackCode take_text(U OTF2_LocationRef at, HEAD, LIST,
                                   OTF2_ParameterRef parameter,
                                   OTF2_StringRef string)
{
    return PUT(TEXT, parameter, string, OTF2_TYPE_STRING);
}

static OTF2_CallbackCode take_int(U OTF2_LocationRef at, HEAD, LIST,
                                  OTF2_ParameterRef parameter, int64_t value)
{
    return PUT(NUMBER, parameter, (uint64_t)value, OTF2_TYPE_INT64);
}

static OTF2_CallbackCode take_uint(U OTF2_LocationRef at, HEAD, LIST,
                                   OTF2_ParameterRef parameter, uint64_t value)
{
    return PUT(NUMBER, parameter, value, OTF2_TYPE_UINT64);
}

static OTF2_CallbackCode take_send(U OTF2_LocationRef at, HEAD, LIST,
                                   uint32_t receiver, OTF2_CommRef comm,
                                   uint32_t tag, uint64_t size)
{
    return PUT(SEND, receiver, comm, tag, size);
}

static OTF2_CallbackCode take_isend(U OTF2_LocationRef at, HEAD, LIST,
                                    uint32_t receiver, OTF2_CommRef comm,
                                    uint32_t tag, uint64_t size,
                                    U uint64_t request)
{
    return PUT(SEND, receiver, comm, tag, size);
}

static OTF2_CallbackCode take_receive(U OTF2_LocationRef at, HEAD, LIST,
                                      uint32_t sender, OTF2_CommRef comm,
                                      uint32_t tag, uint64_t size)
{
    return PUT(RECEIVE, sender, comm, tag, size);
}

static OTF2_CallbackCode take_ireceive(U OTF2_LocationRef at, HEAD, LIST,
                                       uint32_t sender, OTF2_CommRef comm,
                                       uint32_t tag, uint64_t size,
                                       uint64_t request)
{
    return PUT(RECEIVE, sender, comm, tag, size, true, request);
}

static OTF2_CallbackCode take_posted(U OTF2_LocationRef at, HEAD, LIST,
                                     uint64_t request)
{
    return PUT(POSTED, request);
}

static OTF2_CallbackCode take_cancelled(U OTF2_LocationRef at, HEAD, LIST,
                                        uint64_t request)
{
    return PUT(CANCELLED, request);
}

static OTF2_CallbackCode take_collective(U OTF2_LocationRef at, HEAD, LIST,
                                         OTF2_CollectiveOp operation,
                                         OTF2_CommRef comm, uint32_t root,
                                         uint64_t sent, uint64_t received)
{
    return PUT(COLLECTIVE, operation, comm, root, sent, received);
}

static OTF2_CallbackCode take_complete(U OTF2_LocationRef at, HEAD, LIST,
                                       OTF2_CollectiveOp operation,
                                       OTF2_CommRef comm, uint32_t root,
                                       uint64_t sent, uint64_t received,
                                       U uint64_t request)
{
    return PUT(COLLECTIVE, operation, comm, root, sent, received);
}

static OTF2_CallbackCode take_rma_put(U OTF2_LocationRef at, HEAD, LIST,
                                      OTF2_RmaWinRef window, uint32_t remote,
                                      uint64_t size, uint64_t id)
{
    return PUT(COPY, false, window, remote, size, id);
}

static OTF2_CallbackCode take_rma_get(U OTF2_LocationRef at, HEAD, LIST,
                                      OTF2_RmaWinRef window, uint32_t remote,
                                      uint64_t size, uint64_t id)
{
    return PUT(COPY, true, window, remote, size, id);
}

static OTF2_CallbackCode take_copied(U OTF2_LocationRef at, HEAD, LIST,
                                     OTF2_RmaWinRef window, uint64_t id)
{
    return PUT(COPIED, window, id);
}

void otf2_events_set(OTF2_EvtReaderCallbacks *callbacks)
{
#define SET(name, take) \
    OTF2_EvtReaderCallbacks_Set##name##Callback(callbacks, take)
    SET(Enter, take_enter);
    SET(Leave, take_leave);
    SET(CallingContextEnter, take_context_enter);
    SET(CallingContextLeave, take_context_leave);
    SET(Metric, take_metric);
    SET(ParameterString, take_text);
    SET(ParameterInt, take_int);
    SET(ParameterUnsignedInt, take_uint);
    SET(MpiSend, take_send);
    SET(MpiIsend, take_isend);
    SET(MpiRecv, take_receive);
    SET(MpiIrecv, take_ireceive);
    SET(MpiIrecvRequest, take_posted);
    SET(MpiRequestCancelled, take_cancelled);
    SET(MpiCollectiveEnd, take_collective);
    SET(NonBlockingCollectiveComplete, take_complete);
    SET(RmaPut, take_rma_put);
    SET(RmaGet, take_rma_get);
    SET(RmaOpCompleteBlocking, take_copied);
    SET(RmaOpCompleteNonBlocking, take_copied);
#undef SET
}

#else
typedef int otf2_events_need_otf2; // a file of C has a declaration
#endif
