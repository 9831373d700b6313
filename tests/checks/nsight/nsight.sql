-- A database as Nsight Systems exports it, with rows of every table that a
-- view of ts-query has: kernels, also of NCCL, copies of all kinds, sets,
-- waits of all kinds, calls of two processes, ranges and marks, and what is
-- none of a program's: ranges of the operating system and of the profiler.
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
INSERT INTO StringIds VALUES
    (1, 'void gemm<float>(float*)'), (2, 'gemm'), (3, '_Z4gemmIfEvPf'),
    (4, 'cudaLaunchKernel_v7000'), (5, 'cudaMemcpyAsync_v3020'),
    (6, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)'),
    (7, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'),
    (8, 'cudaStreamWaitEvent_v3020'), (9, 'cudaDeviceSynchronize_v3020'),
    (10, 'poll'), (11, 'CUPTI buffer flush'), (12, 'from a table'),
    (13, 'cudaEventSynchronize_v3020'), (14, 'cudaStreamSynchronize_v3020'),
    (15, 'cudaEventRecord_v3020');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    demangledName INTEGER, shortName INTEGER, mangledName INTEGER,
    registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER,
    blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
    dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER,
    graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER, returnValue INTEGER,
    callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER,
    copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER, value INTEGER,
    bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (
    start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, globalPid INTEGER,
    syncType INTEGER, eventId INTEGER, eventSyncId INTEGER);
CREATE TABLE NVTX_EVENTS (
    start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER,
    category INTEGER, color INTEGER, text TEXT, globalTid INTEGER,
    endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
CREATE TABLE OSRT_API (
    start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
    nameId INTEGER, returnValue INTEGER);
CREATE TABLE PROFILER_OVERHEAD (
    start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES
    (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'),
    (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
    (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'),
    (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'),
    (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),
    (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer');
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES
    (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'),
    (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
    (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'),
    (3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'),
    (4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed');
CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES
    (1, '', 'Event sync'), (2, '', 'Stream wait sync'), (3, '', 'Stream sync'),
    (4, '', 'Context sync');

-- Ten rounds of two processes, 10 and 11; a thread has the process's number.
CREATE TEMP TABLE round AS
WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 9)
SELECT i, p, (1 << 56) + (p << 24) AS pid, (1 << 56) + (p << 24) + p AS tid,
    1000000000 + 1000000 * i + (p - 10) * 300 AS t, 100 * i AS c, p - 10 AS d
FROM r, (SELECT 10 AS p UNION SELECT 11);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
SELECT t + 10 * k, t + 10 * k + 5 + i + k, 0, tid, c + k,
    CASE k WHEN 1 THEN 4 WHEN 2 THEN 4 WHEN 3 THEN 5 WHEN 4 THEN 5 WHEN 5
    THEN 15 WHEN 6 THEN 8 WHEN 7 THEN 14 WHEN 8 THEN 13 ELSE 9 END, 0, NULL
FROM round, (SELECT value AS k FROM json_each('[1,2,3,4,5,6,7,8,9]'));
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
SELECT t + 1000, t + 2000 + i, d, 1 + d, 7, c + 1, pid, 1, 2, 3, 32, 4 + i, 1,
    1, 128, 1, 1, 0, 1024, 0, NULL FROM round;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
SELECT t + 3000, t + 5000 + i, d, 1 + d, 9, c + 2, pid, 6, 7, 6, 96, 24, 1, 1,
    512, 1, 1, 42024, 0, 0, NULL FROM round;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY
SELECT t + 6000, t + 6100 + i, d, 1 + d, 7, c + 3, pid, 4096 * (i + 1),
    CASE i % 4 WHEN 0 THEN 1 WHEN 1 THEN 2 WHEN 2 THEN 8 ELSE 10 END, i % 5,
    (i + 2) % 5 FROM round;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET
SELECT t + 6200, t + 6210 + i, d, 1 + d, 7, c + 4, pid, i % 2, 64 * (i + 1), 2
FROM round;
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
SELECT t + 10 * k + 1, t + 10 * k + 4 + i, d, 1 + d, 9, c + k, pid,
    CASE k WHEN 6 THEN 2 WHEN 7 THEN 3 WHEN 8 THEN 1 ELSE 4 END, 5, 0
FROM round, (SELECT value AS k FROM json_each('[6,7,8,9]'));
INSERT INTO NVTX_EVENTS
SELECT t, t + 9000, 59, NULL, NULL, NULL, 'step', tid, NULL, NULL, 0 FROM round
UNION ALL
SELECT t + 5, t + 800, 59, NULL, NULL, NULL,
    'aten::mm, seq = ' || i || ', op_id = ' || (c + d) ||
    ', sizes = [[1, 2], [2, 4]]', tid, NULL, NULL, 0 FROM round
UNION ALL
SELECT t + 900, t + 950 + i, 59, NULL, NULL, NULL, NULL, tid, NULL, 12, 0
FROM round
UNION ALL
SELECT t + 20, t + 7000, 60, 40 + i, NULL, NULL, 'request', tid, tid, NULL, 0
FROM round
UNION ALL
SELECT t + 30, NULL, 34, NULL, NULL, NULL, 'mark', tid, NULL, NULL, 0
FROM round;
INSERT INTO NVTX_EVENTS
SELECT max(t) + 9500, NULL, 59, NULL, NULL, NULL, 'open', tid, NULL, NULL, 0
FROM round WHERE p = 10;
INSERT INTO OSRT_API SELECT t + 7000, t + 7100, tid, NULL, 10, 0 FROM round;
INSERT INTO PROFILER_OVERHEAD SELECT t + 7200, t + 7300, tid, 11 FROM round;
