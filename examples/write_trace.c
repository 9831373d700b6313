/*
    write_trace.c - write a trace from times measured elsewhere

    Reads lines `name,device,stream,start_ns,duration_ns,grid` and writes
    these kernels to trace.sbt, or to the file named as argument.

        echo 'saxpy,0,7,1000,250,64' | write_trace
*/
#define TRACESMITH_WRITER
#include "tracesmith.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { TRACKS = 64 };
typedef struct track { // of a device and a stream; stream -1: the device
    int device, stream;
    uint32_t id;
} track;

static uint32_t track_of(ts_writer *writer, int device, int stream)
{
    static track tracks[TRACKS];
    static int count;
    for (int i = 0; i < count; i++)
        if (tracks[i].device == device && tracks[i].stream == stream)
            return tracks[i].id;
    ts_track_entry entry = { .type = TS_TRACK_DEVICE };
    entry.number = (uint64_t)device;
    if (stream >= 0) {
        entry.type = TS_TRACK_STREAM;
        entry.parent = track_of(writer, device, -1);
        entry.number = (uint64_t)stream;
    }
    const uint32_t id = ts_writer_track(writer, 0, &entry);
    if (count < TRACKS) tracks[count++] = (track){ device, stream, id };
    return id;
}

int main(int argc, char **argv)
{
    const ts_writer_desc desc = { .path = argc > 1 ? argv[1] : "trace.sbt" };
    ts_writer *writer;
    ts_result result = ts_writer_open(&writer, &desc);
    char line[256], name[128];
    int device, stream;
    int64_t start, duration;
    uint32_t grid;
    for (uint64_t n = 1; result == TS_OK && fgets(line, sizeof line, stdin);) {
        if (sscanf(line, "%127[^,],%d,%d,%" SCNd64 ",%" SCNd64 ",%" SCNu32,
                   name, &device, &stream, &start, &duration, &grid) != 6)
            continue;
        const ts_launch_entry launch = {
            .name = ts_writer_name(writer, name, strlen(name)),
            .grid = { grid, 1, 1 },
            .block = { 256, 1, 1 },
        };
        const ts_writer_value values[] = {
            { TS_COLUMN_LAUNCH, ts_writer_launch(writer, &launch) },
            { TS_COLUMN_CORRELATION, n++ },
        };
        ts_writer_event(writer, TS_EVENT_KERNEL,
                        track_of(writer, device, stream), start, duration,
                        values, 2);
    }
    if (result == TS_OK) result = ts_writer_close(writer);
    if (result != TS_OK)
        fprintf(stderr, "write_trace: %s\n", ts_result_text(result));
    return result == TS_OK ? 0 : 1;
}
