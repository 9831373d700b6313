/*
    nsys.h - what the files of the Nsight Systems importer share

    nsys.c      the format; processes, devices, streams
    metadata.c  the session, the machine and its devices
    gpu.c       operations of devices
    events.c    finds the event record of each event wait
    host.c      API calls, samples of counters
    nvtx.c      NVTX ranges and marks
    payload.c   binary payloads of NVTX ranges
    report.c    reports, which nsys makes a database of
*/
#ifndef TS_TOOLS_IMPORT_NSYS_NSYS_H
#define TS_TOOLS_IMPORT_NSYS_NSYS_H

#include "tools/import/map.h"
#include "tools/import/sqlite.h"

extern const import_format import_nsys; // of databases

// A stream that has operations.
typedef struct nsys_lane {
    int64_t process, device, context, stream; // of the source
    uint32_t track;
    bool listed; // the file has its flags
    uint64_t flags;
} nsys_lane;

enum { NSYS_CACHE = 64 };

typedef struct nsys_gpu_of { // the GPU behind a process's CUDA device number
    int64_t process, cuda, gpu;
} nsys_gpu_of;

typedef struct nsys {
    import_job *job;
    import_db *db;
    import_strings *strings;
    bool out_of_memory;

    cli_map processes; // by globalPid >> 24: index from 1
    cli_map threads;   // by globalTid: track
    cli_map contexts;  // by device << 32 | context: index of its process
    cli_map device_of; // by process and context: device + 1
    cli_map lane_of;   // by track: index into lanes
    nsys_lane *lanes;
    size_t lane_count, lane_room;
    nsys_lane cache[NSYS_CACHE];
    nsys_gpu_of *gpus;
    size_t gpu_count;

    struct nsys_field *fields; // of payloads, sorted by domain and schema
    size_t field_count, field_room;

    cli_map calls;   // by nameId: number of the name, less its version suffix
    cli_map records; // by process and eventSyncId: correlation id
    cli_map late;    // by correlation id: index into events + 1
    import_operation *events;
    size_t event_count;
} nsys;

// Returns the trace's number of a name.
uint32_t nsys_name(nsys *n, const char *text);

// Returns the index, from 0, of the process of a globalPid or globalTid.
// IMPORT_NONE gives 0.
int64_t nsys_process(nsys *n, int64_t global);
// Returns its process id in the operating system.
int64_t nsys_pid(int64_t global);
// Returns the track of a globalTid. IMPORT_NONE gives 0 and counts a bad row.
uint32_t nsys_thread(nsys *n, int64_t global, int64_t time_ns);
// Makes an id of one process (a correlation id, an event) unique in the trace.
uint64_t nsys_id(nsys *n, int64_t global, int64_t id);
// Returns the device of a context, as reported by rows of work
// (nsys_report_device); `device` if there are none. Rows of events and
// synchronisations have device 0 whatever the real one is.
int64_t nsys_device(nsys *n, int64_t global, int64_t context, int64_t device);
// Notes the device of a context, from any table that has both; the first one
// counts. IMPORT_NONE is ignored.
void nsys_report_device(nsys *n, int64_t global, int64_t context,
                        int64_t device);
// Returns the track of an operation. 0 if it has no device; the row is counted
// as bad.
uint32_t nsys_stream(nsys *n, int64_t global, int64_t device, int64_t context,
                     int64_t stream, int64_t time_ns);

// The meaning of a field in payloads of NCCL.
typedef enum nsys_meaning {
    NSYS_ANYTHING,
    NSYS_COMMUNICATOR,
    NSYS_MESSAGE_SIZE,
    NSYS_PEER
} nsys_meaning;

enum { NSYS_VALUES = 32 }; // values of a payload; further ones are ignored
typedef struct nsys_value {
    uint32_t name; // number in the trace
    nsys_meaning meaning;
    bool is_real;
    double real;   // if is_real
    uint64_t bits; // otherwise
} nsys_value;

// Reads the layouts of payloads.
void nsys_read_payloads(nsys *n);
// Decodes the values of a payload; returns their count, 0 if its layout is
// unknown.
size_t nsys_decode(const nsys *n, const uint8_t *bytes, size_t size,
                   nsys_value values[NSYS_VALUES]);

// For files without a table that links records to calls: links them by their
// order.
void nsys_guess_records(nsys *n);

// Imports facts about the report: versions, the command, the machine.
void nsys_read_about(nsys *n);
// Imports the operations of all tables, records before the waits that name
// them.
void nsys_read_gpu(nsys *n);
// Imports ranges, marks, names and payloads of NVTX.
void nsys_read_nvtx(nsys *n);
// Imports calls, overhead, diagnostics and metrics; last, because the tables
// that nobody has read by then are counted as without a place.
void nsys_read_host(nsys *n);
// Converts a memory kind of the file to SBT's, 0 to 5.
uint8_t nsys_memory(int64_t kind);

#endif // TS_TOOLS_IMPORT_NSYS_NSYS_H
