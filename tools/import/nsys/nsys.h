/*
    nsys.h - what the files of the Nsight Systems importer share

    nsys.c         the format: who is who (processes, devices, streams)
    metadata.c   what the file says about itself and the machine
    gpu.c     what ran on devices
    events.c  which call recorded what a wait waits for
    host.c    calls of functions, samples of counters
    nvtx.c    ranges and marks that programs make
    payload.c what ranges carry in binary form
*/
#ifndef TS_TOOLS_IMPORT_NSYS_NSYS_H
#define TS_TOOLS_IMPORT_NSYS_NSYS_H

#include "tools/import/map.h"
#include "tools/import/sqlite.h"

// A stream on which operations lie.
typedef struct nsys_lane {
    int64_t process, device, context, stream; // of the source
    uint32_t track;
    bool listed; // the file tells its flags
    uint64_t flags;
} nsys_lane;

enum { NSYS_CACHE = 64 };

typedef struct nsys_gpu_of { // which GPU a process calls by a number
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

    struct nsys_field *fields; // of payloads, by domain and schema
    size_t field_count, field_room;

    cli_map calls;   // by nameId: number of the name without its version
    cli_map records; // by process and eventSyncId: correlation
    cli_map late;    // by correlation: index into events, from 1
    import_operation *events;
    size_t event_count;
} nsys;

// The number of a name: of SBT, of a text of ours.
uint32_t nsys_name(nsys *n, const char *text);

// Index from 0 of the process of a globalPid or globalTid; IMPORT_NONE is 0.
int64_t nsys_process(nsys *n, int64_t global);
// Its identifier as the operating system has it.
int64_t nsys_pid(int64_t global);
// 0: IMPORT_NONE, which is counted as bad.
uint32_t nsys_thread(nsys *n, int64_t global, int64_t time_ns);
// Correlations (events, ...) are those of a process.
uint64_t nsys_id(nsys *n, int64_t global, int64_t id);
// The device of a context as work on it tells, else `device`: rows of events
// and of synchronisation have 0 there, whatever the device.
int64_t nsys_device(nsys *n, int64_t global, int64_t context, int64_t device);
void nsys_report_device(nsys *n, int64_t global, int64_t context,
                        int64_t device);
// The track of an operation; 0: no device, which is counted as bad.
uint32_t nsys_stream(nsys *n, int64_t global, int64_t device, int64_t context,
                     int64_t stream, int64_t time_ns);

// What a field of a payload means, if NCCL says it.
typedef enum nsys_meaning {
    NSYS_ANYTHING,
    NSYS_COMMUNICATOR,
    NSYS_MESSAGE_SIZE,
    NSYS_PEER
} nsys_meaning;

enum { NSYS_VALUES = 32 }; // of one payload; others are left out
typedef struct nsys_value {
    uint32_t name; // of SBT
    nsys_meaning meaning;
    bool is_real;
    double real;   // if it is
    uint64_t bits; // if not
} nsys_value;

// Reads the layouts of payloads; then values of one. 0: nothing that is known.
void nsys_read_payloads(nsys *n);
size_t nsys_decode(const nsys *n, const uint8_t *bytes, size_t size,
                   nsys_value values[NSYS_VALUES]);

// Where no table tells the calls of records: by their order.
void nsys_guess_records(nsys *n);

void nsys_read_about(nsys *n);
void nsys_read_gpu(nsys *n);
void nsys_read_nvtx(nsys *n);
void nsys_read_host(nsys *n);
// Kinds of memory of the file as SBT's: 0 to 5.
uint8_t nsys_memory(int64_t kind);

#endif // TS_TOOLS_IMPORT_NSYS_NSYS_H
