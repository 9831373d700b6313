/*
    views.c - views: parts of tables, and the tables of Nsight Systems

    They use only functions of SQLite, so that they also work in a saved
    database. Source of names and numbers: the schema in an export of Nsight
    Systems 2025, with its ENUM_ tables. A globalTid is the process id shifted
    left by 24 bits, plus the thread id.
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

const query_view query_views[] = {
    { "kernel", "kernels of gpu_op",
      "SELECT name, device, stream, start_ns, end_ns, duration_ns, "
      "correlation, grid_x, grid_y, grid_z, block_x, block_y, block_z, "
      "registers, static_shared, dynamic_shared, zone, thread, stack, "
      "queued_ns, submitted_ns, graph, graph_node, launch, track, id, file "
      "FROM gpu_op WHERE kind = 'kernel'" },
    { "memcpy", "copies of gpu_op",
      "SELECT copy, size, device, stream, start_ns, end_ns, duration_ns, "
      "correlation, source_memory, memory, source_address, address, zone, "
      "thread, stack, queued_ns, submitted_ns, track, id, file "
      "FROM gpu_op WHERE kind = 'memcpy'" },
    { "collective", "collectives of gpu_op",
      "SELECT name, size, element, communicator, sequence, ranks, peer, "
      "device, stream, start_ns, end_ns, duration_ns, correlation, zone, "
      "thread, track, id, file FROM gpu_op WHERE kind = 'collective'" },
    { "process", "processes of track",
      "SELECT id, name, number, file FROM track WHERE type = 'process'" },
    { "thread", "threads of track",
      "SELECT id, name, number, process, file FROM track "
      "WHERE type = 'thread'" },
    { "device", "devices of track",
      "SELECT id, name, number, file FROM track WHERE type = 'device'" },
    { "stream", "streams of track",
      "SELECT id, name, number, device, context, process, flags, file "
      "FROM track WHERE type = 'stream'" },
    { 0 },
};

#define WHERE_WHEN \
    "SELECT start_ns AS start, end_ns AS \"end\", device AS deviceId, " \
    "context AS contextId, stream AS streamId, " \
    "correlation AS correlationId, " PROCESS " << 24 AS globalPid, "
// The process of an operation. A stream of a device that several processes
// share has none; then it is the process of the calling thread.
#define PROCESS \
    "coalesce(process, (SELECT t.process FROM track t " \
    "WHERE t.id = thread_track))"
// The kernel name of a collective is the name in its launch.
#define KERNEL_NAME \
    "CASE kind WHEN 'kernel' THEN name_id ELSE coalesce((SELECT l.name_id " \
    "FROM launch l WHERE l.id = launch), name_id) END"
// For an event wait, a trace has its time on the device, Nsight Systems the
// time of its call.
#define SYNC_WHEN(otherwise, column) \
    "CASE kind WHEN 'event_wait' THEN coalesce(" column ", " otherwise ") " \
    "ELSE " otherwise " END AS "
// Excludes zones that importers create from something else than a program's
// ranges.
#define IS_RANGE \
    "(category IS NULL OR category NOT IN ('overhead', 'OS runtime') " \
    "AND category NOT GLOB '[A-Z]*_EVENTS' " \
    "AND category NOT GLOB '[A-Z]*_API')"
// The original text of a range: the importer moves what PyTorch appends to an
// operator's name into arguments.
#define RANGE_TEXT \
    "name || coalesce((SELECT group_concat(part, '') FROM (SELECT ', ' || " \
    "a.name || ' = ' || a.value AS part FROM zone_arg a " \
    "WHERE a.start_ns = z.start_ns AND a.track = z.track " \
    "AND a.site = z.site " \
    "AND a.name IN ('seq', 'op_id', 'sizes', 'input_op_ids') " \
    "ORDER BY instr('seq op_id sizes input_op_ids', a.name))), '') "
#define TID  "(process << 24) | (tid & 16777215)"
#define NSYS "Nsight Systems: "
#define MEMORY_KIND(column) \
    "CASE " column " WHEN 'pageable' THEN 0 WHEN 'pinned' THEN 1 " \
    "WHEN 'device' THEN 2 WHEN 'array' THEN 3 WHEN 'managed' THEN 4 " \
    "ELSE 7 END AS "
#define COPY_KIND \
    "CASE copy WHEN 'host_to_device' THEN 1 " \
    "WHEN 'device_to_host' THEN 2 WHEN 'device_to_device' THEN 8 " \
    "WHEN 'host_to_host' THEN 9 WHEN 'peer_to_peer' THEN 10 ELSE 0 END "
#define SYNC_TYPE \
    "CASE kind WHEN 'event_sync' THEN 1 WHEN 'event_wait' THEN 2 " \
    "WHEN 'stream_sync' THEN 3 ELSE 4 END AS syncType, "
#define SOURCE_KIND MEMORY_KIND("source_memory") "srcKind, "
#define TARGET_KIND MEMORY_KIND("memory") "dstKind "
#define SET_KIND    MEMORY_KIND("memory") "memKind "

const query_view query_nsight_views[] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL", NSYS "kernels",
      WHERE_WHEN
      "3 * (" KERNEL_NAME ") + 1 AS demangledName, "
      "3 * (" KERNEL_NAME ") + 2 AS shortName, "
      "3 * (" KERNEL_NAME ") AS mangledName, registers AS registersPerThread, "
      "grid_x AS gridX, grid_y AS gridY, grid_z AS gridZ, "
      "block_x AS blockX, block_y AS blockY, block_z AS blockZ, "
      "static_shared AS staticSharedMemory, "
      "dynamic_shared AS dynamicSharedMemory, "
      "local AS localMemoryPerThread, graph_node AS graphNodeId, "
      "graph AS graphId, cluster_x AS clusterX, cluster_y AS clusterY, "
      "cluster_z AS clusterZ "
      "FROM gpu_op WHERE kind IN ('kernel', 'collective')" },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", NSYS "copies",
      WHERE_WHEN "size AS bytes, " COPY_KIND
                 "AS copyKind, " SOURCE_KIND TARGET_KIND
                 "FROM gpu_op WHERE kind = 'memcpy'" },
    { "CUPTI_ACTIVITY_KIND_MEMSET", NSYS "sets",
      WHERE_WHEN "coalesce(value, 0) AS value, size AS bytes, " SET_KIND
                 "FROM gpu_op WHERE kind = 'memset'" },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", NSYS "waits",
      "SELECT " SYNC_WHEN("start_ns", "queued_ns") "start, " SYNC_WHEN(
          "end_ns", "submitted_ns") "\"end\", device AS deviceId, "
                                    "context AS contextId, stream AS streamId, "
                                    "correlation AS correlationId, " PROCESS
                                    " << 24 AS globalPid, " SYNC_TYPE
                                    "event AS eventId FROM sync "
                                    "WHERE kind <> 'event_record'" },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", NSYS "calls",
      "SELECT start_ns AS start, end_ns AS \"end\", " TID " AS globalTid, "
      "correlation AS correlationId, 3 * name_id AS nameId, "
      "result AS returnValue, stack AS callchainId FROM api_call" },
    { "NVTX_EVENTS", NSYS "ranges and marks: zone, span and mark",
      "SELECT start_ns AS start, end_ns AS \"end\", 59 AS eventType, "
      "NULL AS rangeId, " RANGE_TEXT "AS text, " TID " AS globalTid, "
      "NULL AS textId FROM zone z WHERE " IS_RANGE " UNION ALL "
      "SELECT start_ns, NULL, 59, NULL, " RANGE_TEXT ", " TID ", NULL "
      "FROM zone_open z WHERE " IS_RANGE " UNION ALL "
      "SELECT s.time_ns, (SELECT e.time_ns FROM span e WHERE e.id = s.id "
      "AND e.phase = 'end'), 60, s.id, s.name, "
      "(s.process << 24) | (s.tid & 16777215), NULL FROM span s "
      "WHERE s.phase = 'start' UNION ALL "
      "SELECT time_ns, NULL, 34, NULL, name, " TID ", NULL FROM mark" },
    { "TARGET_INFO_GPU", NSYS "devices",
      "SELECT number AS id, name FROM track WHERE type = 'device'" },
    { "ENUM_CUDA_MEMCPY_OPER", NSYS "what copyKind means",
      "SELECT column1 AS id, column2 AS name, column3 AS label FROM (VALUES "
      "(0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'), "
      "(1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'), "
      "(2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'), "
      "(3, 'CUDA_MEMCPY_KIND_HTOA', 'Host-to-Array'), "
      "(4, 'CUDA_MEMCPY_KIND_ATOH', 'Array-to-Host'), "
      "(5, 'CUDA_MEMCPY_KIND_ATOA', 'Array-to-Array'), "
      "(6, 'CUDA_MEMCPY_KIND_ATOD', 'Array-to-Device'), "
      "(7, 'CUDA_MEMCPY_KIND_DTOA', 'Device-to-Array'), "
      "(8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'), "
      "(9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'), "
      "(10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer'), "
      "(11, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified Host-to-Device'), "
      "(12, 'CUDA_MEMCPY_KIND_UVM_DTOH', 'Unified Device-to-Host'), "
      "(13, 'CUDA_MEMCPY_KIND_UVM_DTOD', 'Unified Device-to-Device'))" },
    { "ENUM_CUDA_MEM_KIND", NSYS "what srcKind and dstKind mean",
      "SELECT column1 AS id, column2 AS name, column3 AS label FROM (VALUES "
      "(0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'), "
      "(1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'), "
      "(2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'), "
      "(3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'), "
      "(4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed'), "
      "(5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'), "
      "(6, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC', 'Managed Static'), "
      "(7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown'))" },
#define SYNC_ENUM "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_"
    { "ENUM_CUPTI_SYNC_TYPE", NSYS "what syncType means",
      "SELECT column1 AS id, column2 AS name, column3 AS label FROM (VALUES "
      "(0, '" SYNC_ENUM "UNKNOWN', 'Unknown'), "
      "(1, '" SYNC_ENUM "EVENT_SYNCHRONIZE', 'Event sync'), "
      "(2, '" SYNC_ENUM "STREAM_WAIT_EVENT', 'Stream wait sync'), "
      "(3, '" SYNC_ENUM "STREAM_SYNCHRONIZE', 'Stream sync'), "
      "(4, '" SYNC_ENUM "CONTEXT_SYNCHRONIZE', 'Context sync'))" },
    { 0 },
};

#endif
