/*
    ts-benchmark.c - what a launch costs on this machine, recorded and not
*/
#define _GNU_SOURCE
#include "tools/benchmark/benchmark.h"
#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t count;
static const char *backend_text, *out_text;
static bool real_gpu, only_launch, option_json;

enum { COUNT = 10000, COUNT_MOST = 100000000, STACK_DEPTH = 16 };

static const cli_option options[] = {
    { .name = "-n, --count N",
      .help = "number of launches (default: 10000)",
      .number = &count },
    { .name = "--backend NAME",
      .help = "device to use: vdev, opencl, cuda or hip (default: the\n"
              "first of cuda, hip, opencl and vdev that has a device)",
      .text = &backend_text },
    { .name = "--real-gpu",
      .help = "use a GPU through its own driver, or fail",
      .flag = &real_gpu },
    { .name = "-o, --output FILE",
      .help = "keep the trace in FILE",
      .text = &out_text },
    { .name = "--only-launch",
      .help = "only launch, record nothing, and print the time of one\n"
              "launch in nanoseconds",
      .flag = &only_launch },
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-benchmark",
    .usage = "[options]",
    .about = "Measures the cost of recording: launches empty kernels without "
             "and with\nrecording, including the call stack of each launch.",
    .options = options,
};

static const benchmark_device *const devices[] = {
    &benchmark_cuda, &benchmark_hip, &benchmark_opencl, &benchmark_vdev
};
enum { DEVICES = sizeof devices / sizeof *devices };

typedef struct result {
    double launch_ns; // 0: no device; `text` is the reason
    char text[256];   // name of the device
} result;

/* ---- Launching ----------------------------------------------------------- */

static result launch_all(const benchmark_device *device, const char *record)
{
    result r = { 0 };
    const char *why = "";
    if (!device->open(r.text, sizeof r.text, &why)) {
        snprintf(r.text, sizeof r.text, "%s", why);
        return r;
    }
    if (record && !benchmark_record_here(record, STACK_DEPTH)) {
        snprintf(r.text, sizeof r.text, "the session cannot be started");
        return r;
    }
    device->launch(); // the first launch loads code: not timed
    device->finish();
    r.launch_ns = benchmark_launches(device, count) / (double)count;
    if (record) benchmark_need(ts_session_stop() == TS_OK, "ts_session_stop");
    return r;
}

static int print_launch(const benchmark_device *device)
{
    const result r = launch_all(device, NULL);
    if (r.launch_ns > 0)
        printf("%.1f\n", r.launch_ns);
    else
        cli_error(&tool, device->backend, "%s", r.text);
    return cli_finish(&tool, r.launch_ns > 0 ? CLI_OK : CLI_FAILED);
}

/* ---- Processes ----------------------------------------------------------- */

// Launches in a child process, so that this one loads no driver.
static result launch_in_child(const benchmark_device *device,
                              const char *record)
{
    result r = { .text = "the process cannot be started" };
    int line[2];
    if (pipe(line)) return r;
    const pid_t child = fork();
    if (!child) {
        r = launch_all(device, record);
        _exit(write(line[1], &r, sizeof r) != (ssize_t)sizeof r);
    }
    close(line[1]);
    if (child > 0) {
        result got;
        if (read(line[0], &got, sizeof got) == (ssize_t)sizeof got)
            r = got;
        else
            snprintf(r.text, sizeof r.text, "a launch failed");
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    }
    close(line[0]);
    return r;
}

static void run_recorder(const benchmark_device *device, const char *trace,
                         int to)
{
    char recorder[4096], self[4096], number[32], stacks[32];
    snprintf(number, sizeof number, "%" PRIu64, count);
    snprintf(stacks, sizeof stacks, "--stacks=%d", STACK_DEPTH);
    if (!cli_beside(recorder, sizeof recorder, "ts-record") ||
        !cli_beside(self, sizeof self, "ts-benchmark") || dup2(to, 1) < 0)
        _exit(127);
    execl(recorder, recorder, "-q", stacks, "-o", trace, "--", self,
          "--only-launch", "--backend", device->backend, "-n", number,
          (char *)NULL);
    _exit(127);
}

// Launches under ts-record, like a program without annotations.
static result launch_recorded(const benchmark_device *device, const char *trace)
{
    result r = {
        .text = "ts-record failed; it must be in the folder of ts-benchmark"
    };
    char rate[64] = "";
    int line[2], status = -1;
    if (device->in_process) return launch_in_child(device, trace);
    if (pipe(line)) return r;
    const pid_t child = fork();
    if (!child) run_recorder(device, trace, line[1]);
    close(line[1]);
    FILE *const in = fdopen(line[0], "r");
    const bool got = child > 0 && in && fgets(rate, sizeof rate, in);
    if (in) fclose(in);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (got && !status) r.launch_ns = strtod(rate, NULL);
    return r;
}

/* ---- Report -------------------------------------------------------------- */

static void report_json_part(const benchmark_device *device,
                             const result *plain, const result *recorded,
                             const benchmark_trace *trace)
{
    cli_json json = { .out = stdout, .lines = 1 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "backend", device->backend);
    cli_json_string(&json, "device", plain->text);
    cli_json_int(&json, "launches", (int64_t)count);
    cli_json_real(&json, "launch_ns", plain->launch_ns);
    cli_json_real(&json, "recorded_launch_ns", recorded->launch_ns);
    cli_json_int(&json, "kernels", (int64_t)trace->kernels);
    cli_json_int(&json, "with_stack", (int64_t)trace->with_stack);
    cli_json_int(&json, "lost", (int64_t)trace->lost);
    cli_json_int(&json, "bytes", (int64_t)trace->bytes);
    cli_json_close(&json, '}');
}

static void print_rate(const char *title, double launch_ns)
{
    printf("  %-10s %9s a launch  %10s launches/s\n", title,
           cli_time((int64_t)launch_ns).s,
           cli_count((uint64_t)(1e9 / launch_ns)).s);
}

static void print_result(const benchmark_device *device, const result *plain,
                         const result *recorded, const benchmark_trace *trace)
{
    const double more = recorded->launch_ns - plain->launch_ns;
    cli_fold();
    printf("%s: ", device->backend);
    cli_put_text(stdout, plain->text, strlen(plain->text));
    printf("\n\n");
    print_rate("alone", plain->launch_ns);
    print_rate("recorded", recorded->launch_ns);
    printf("  %-10s %9s a launch  %11s\n\n", "cost", cli_time((int64_t)more).s,
           cli_change(more / plain->launch_ns, 1).s);
    printf("  %s recorded, %s with a stack, %s lost; %.1f bytes each\n",
           cli_counted(trace->kernels, "launch", "launches").s,
           cli_count(trace->with_stack).s, cli_count(trace->lost).s,
           trace->kernels ? (double)trace->bytes / (double)trace->kernels : 0);
}

/* ---- Running ------------------------------------------------------------- */

// Whether the trace has all launches, including the first, untimed one.
static bool is_whole(const benchmark_trace *trace)
{
    const uint64_t launched = 3 * count + 1;
    if (trace->kernels == launched && !trace->lost) return true;
    cli_error(&tool, NULL, "%s of %s launches are in the trace",
              cli_count(trace->kernels).s, cli_count(launched).s);
    return false;
}

static bool read_trace(const benchmark_device *device, const char *path,
                       benchmark_trace *counts)
{
    struct stat st;
    if (stat(path, &st) || st.st_size)
        return benchmark_count(&tool, path, counts);
    cli_error(&tool, device->backend,
              "ts-record recorded nothing; ts-devices tells what is missing");
    return false;
}

static int measure(const benchmark_device *device, const result *plain)
{
    char trace[] = "/tmp/ts-benchmark-XXXXXX";
    benchmark_trace counts;
    const char *path = out_text;
    if (!path) {
        const int fd = mkstemp(trace);
        if (fd < 0) {
            cli_error(&tool, trace, "%s", strerror(errno));
            return CLI_FAILED;
        }
        close(fd);
        path = trace;
    }
    const result recorded = launch_recorded(device, path);
    bool fine = recorded.launch_ns > 0;
    if (!fine) cli_error(&tool, device->backend, "%s", recorded.text);
    fine = fine && read_trace(device, path, &counts);
    if (fine && option_json)
        report_json_part(device, plain, &recorded, &counts);
    if (fine && !option_json) print_result(device, plain, &recorded, &counts);
    if (!out_text) unlink(path);
    return fine && is_whole(&counts) ? CLI_OK : CLI_FAILED;
}

static bool is_selected(const benchmark_device *device)
{
    if (backend_text) return !strcmp(device->backend, backend_text);
    return !real_gpu || device->is_gpu;
}

int main(int argc, char **argv)
{
    char why[2048] = "";
    bool known = false;
    cli_parse(&tool, &argc, argv);
    if (!count) count = COUNT;
    if (argc > 1 || count > COUNT_MOST) {
        cli_error(&tool, NULL,
                  argc > 1 ? "does not take files" : "-n: too many launches");
        return CLI_USAGE;
    }
    if (out_text && !cli_output_check(&tool, out_text, NULL, 0))
        return CLI_USAGE;
    for (int i = 0; i < DEVICES; i++) {
        const benchmark_device *const device = devices[i];
        if (!is_selected(device)) continue;
        known = true;
        if (only_launch) return print_launch(device);
        const result plain = launch_in_child(device, NULL);
        if (plain.launch_ns > 0)
            return cli_finish(&tool, measure(device, &plain));
        const size_t used = strlen(why);
        snprintf(why + used, sizeof why - used, "%s%s: %s", used ? "; " : "",
                 device->backend, plain.text);
    }
    cli_error(&tool, NULL, "%s",
              known ? why : "--backend: must be vdev, opencl, cuda or hip");
    return known ? CLI_FAILED : CLI_USAGE;
}
