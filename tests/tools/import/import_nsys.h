/*
    import_nsys.h - tables as Nsight Systems exports them, for tests
*/
#ifndef IMPORT_NSYS_H
#define IMPORT_NSYS_H

#include "tests/tools/import/import_sql.h"

// globalTid: process 10, thread 11; process 20, thread 21.
#define P10 "167772160"
#define T11 "167772171"
#define P20 "335544320"
#define T21 "335544341"

#define STRINGS \
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);" \
    "INSERT INTO StringIds VALUES (1, 'void full<int>(int)'), (2, 'full')," \
    "(3, '_Z4fulli'), (4, 'cudaLaunchKernel_v7000'), (5, 'cuMemAlloc_v2')," \
    "(6, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)'), (7, 'main')," \
    "(8, 'read'), (9, 'MPI_Send');"
#define KERNELS \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, " \
    "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId " \
    "INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, " \
    "mangledName INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY " \
    "INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, " \
    "staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, " \
    "localMemoryPerThread INTEGER, graphNodeId INTEGER, graphId INTEGER);"
#define KERNEL(times, where, name) \
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" times ", " where \
    ", " name ", 32, 4, 2, 1, 64, 1, 1, 16, 32, 8, NULL, NULL);"
#define CALLS \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, " \
    "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId " \
    "INTEGER, returnValue INTEGER);"
#define CALL(times, thread, correlation, name) \
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" times ", 0, " thread \
    ", " correlation ", " name ", 0);"

#endif // IMPORT_NSYS_H
