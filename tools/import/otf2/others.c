/*
    others.c - events that have no place in a trace: they are counted

    Source: OTF2_EvtReaderCallbacks.h of OTF2 3.0.
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2
#define U    __attribute__((unused))
#define LIST OTF2_AttributeList *list

#define OTHERS(X) \
    X(Unknown, LIST) \
    X(BufferFlush, LIST, U OTF2_TimeStamp a) \
    X(MeasurementOnOff, LIST, U OTF2_MeasurementMode a) \
    X(MpiIsendComplete, LIST, U uint64_t a) \
    X(MpiRequestTest, LIST, U uint64_t a) \
    X(MpiCollectiveBegin, LIST) \
    X(OmpFork, LIST, U uint32_t a) \
    X(OmpJoin, LIST) \
    X(OmpAcquireLock, LIST, U uint32_t a, U uint32_t b) \
    X(OmpReleaseLock, LIST, U uint32_t a, U uint32_t b) \
    X(OmpTaskCreate, LIST, U uint64_t a) \
    X(OmpTaskSwitch, LIST, U uint64_t a) \
    X(OmpTaskComplete, LIST, U uint64_t a) \
    X(RmaWinCreate, LIST, U OTF2_RmaWinRef a) \
    X(RmaWinDestroy, LIST, U OTF2_RmaWinRef a) \
    X(RmaCollectiveBegin, LIST) \
    X(RmaCollectiveEnd, LIST, U OTF2_CollectiveOp a, U OTF2_RmaSyncLevel b, \
      U OTF2_RmaWinRef c, U uint32_t d, U uint64_t e, U uint64_t f) \
    X(RmaGroupSync, LIST, U OTF2_RmaSyncLevel a, U OTF2_RmaWinRef b, \
      U OTF2_GroupRef c) \
    X(RmaRequestLock, LIST, U OTF2_RmaWinRef a, U uint32_t b, U uint64_t c, \
      U OTF2_LockType d) \
    X(RmaAcquireLock, LIST, U OTF2_RmaWinRef a, U uint32_t b, U uint64_t c, \
      U OTF2_LockType d) \
    X(RmaTryLock, LIST, U OTF2_RmaWinRef a, U uint32_t b, U uint64_t c, \
      U OTF2_LockType d) \
    X(RmaReleaseLock, LIST, U OTF2_RmaWinRef a, U uint32_t b, U uint64_t c) \
    X(RmaSync, LIST, U OTF2_RmaWinRef a, U uint32_t b, U OTF2_RmaSyncType c) \
    X(RmaWaitChange, LIST, U OTF2_RmaWinRef a) \
    X(RmaAtomic, LIST, U OTF2_RmaWinRef a, U uint32_t b, \
      U OTF2_RmaAtomicType c, U uint64_t d, U uint64_t e, U uint64_t f) \
    X(RmaOpTest, LIST, U OTF2_RmaWinRef a, U uint64_t b) \
    X(RmaOpCompleteRemote, LIST, U OTF2_RmaWinRef a, U uint64_t b) \
    X(ThreadFork, LIST, U OTF2_Paradigm a, U uint32_t b) \
    X(ThreadJoin, LIST, U OTF2_Paradigm a) \
    X(ThreadTeamBegin, LIST, U OTF2_CommRef a) \
    X(ThreadTeamEnd, LIST, U OTF2_CommRef a) \
    X(ThreadAcquireLock, LIST, U OTF2_Paradigm a, U uint32_t b, U uint32_t c) \
    X(ThreadReleaseLock, LIST, U OTF2_Paradigm a, U uint32_t b, U uint32_t c) \
    X(ThreadTaskCreate, LIST, U OTF2_CommRef a, U uint32_t b, U uint32_t c) \
    X(ThreadTaskSwitch, LIST, U OTF2_CommRef a, U uint32_t b, U uint32_t c) \
    X(ThreadTaskComplete, LIST, U OTF2_CommRef a, U uint32_t b, U uint32_t c) \
    X(ThreadCreate, LIST, U OTF2_CommRef a, U uint64_t b) \
    X(ThreadBegin, LIST, U OTF2_CommRef a, U uint64_t b) \
    X(ThreadWait, LIST, U OTF2_CommRef a, U uint64_t b) \
    X(ThreadEnd, LIST, U OTF2_CommRef a, U uint64_t b) \
    X(CallingContextSample, LIST, U OTF2_CallingContextRef a, U uint32_t b, \
      U OTF2_InterruptGeneratorRef c) \
    X(IoCreateHandle, LIST, U OTF2_IoHandleRef a, U OTF2_IoAccessMode b, \
      U OTF2_IoCreationFlag c, U OTF2_IoStatusFlag d) \
    X(IoDestroyHandle, LIST, U OTF2_IoHandleRef a) \
    X(IoDuplicateHandle, LIST, U OTF2_IoHandleRef a, U OTF2_IoHandleRef b, \
      U OTF2_IoStatusFlag c) \
    X(IoSeek, LIST, U OTF2_IoHandleRef a, U int64_t b, U OTF2_IoSeekOption c, \
      U uint64_t d) \
    X(IoChangeStatusFlags, LIST, U OTF2_IoHandleRef a, U OTF2_IoStatusFlag b) \
    X(IoDeleteFile, LIST, U OTF2_IoParadigmRef a, U OTF2_IoFileRef b) \
    X(IoOperationBegin, LIST, U OTF2_IoHandleRef a, U OTF2_IoOperationMode b, \
      U OTF2_IoOperationFlag c, U uint64_t d, U uint64_t e) \
    X(IoOperationTest, LIST, U OTF2_IoHandleRef a, U uint64_t b) \
    X(IoOperationIssued, LIST, U OTF2_IoHandleRef a, U uint64_t b) \
    X(IoOperationComplete, LIST, U OTF2_IoHandleRef a, U uint64_t b, \
      U uint64_t c) \
    X(IoOperationCancelled, LIST, U OTF2_IoHandleRef a, U uint64_t b) \
    X(IoAcquireLock, LIST, U OTF2_IoHandleRef a, U OTF2_LockType b) \
    X(IoReleaseLock, LIST, U OTF2_IoHandleRef a, U OTF2_LockType b) \
    X(IoTryLock, LIST, U OTF2_IoHandleRef a, U OTF2_LockType b) \
    X(ProgramBegin, LIST, U OTF2_StringRef a, U uint32_t b, \
      U const OTF2_StringRef *c) \
    X(ProgramEnd, LIST, U int64_t a) \
    X(NonBlockingCollectiveRequest, LIST, U uint64_t a) \
    X(CommCreate, LIST, U OTF2_CommRef a) \
    X(CommDestroy, LIST, U OTF2_CommRef a)

#define X(name, ...) OTHER_##name,
enum { OTHER_ATTRIBUTE, OTHERS(X) OTHER_COUNT };
#undef X

#define X(name, ...) #name,
const char *const otf2_others[] = { "attribute", OTHERS(X) };
#undef X
const size_t otf2_other_count = OTHER_COUNT;

static OTF2_CallbackCode count(otf2_child *c, size_t other,
                               const OTF2_AttributeList *list)
{
    c->others[OTHER_ATTRIBUTE] += OTF2_AttributeList_GetNumberOfElements(list);
    c->others[other]++;
    return c->budget && c->budget-- ? OTF2_CALLBACK_SUCCESS
                                    : OTF2_CALLBACK_INTERRUPT;
}

#define X(name, ...) \
    static OTF2_CallbackCode take_##name( \
        U OTF2_LocationRef location, U OTF2_TimeStamp time, \
        U uint64_t position, void *user, __VA_ARGS__) \
    { \
        return count(user, OTHER_##name, list); \
    }
OTHERS(X)
#undef X

void otf2_others_set(OTF2_EvtReaderCallbacks *callbacks)
{
#define X(name, ...) \
    OTF2_EvtReaderCallbacks_Set##name##Callback(callbacks, take_##name);
    OTHERS(X)
#undef X
}

#else
typedef int otf2_others_need_otf2; // a file of C has a declaration
#endif
