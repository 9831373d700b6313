/*
    ts-devices.c - the devices of this machine, and what can be recorded of them
*/
#include "tools/devices/devices.h"
#include <sys/stat.h>

static bool option_json;
static const char *root = "";
static int64_t limit_ns = INT64_C(5000000000);

static const cli_option options[] = {
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { .name = "--timeout TIME",
      .help = "how long to wait for drivers (default: 5s)",
      .time_ns = &limit_ns },
    { .name = "--root FOLDER",
      .help = "read /dev, /etc, /proc and /sys below FOLDER",
      .text = &root },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-devices",
    .usage = "[options]",
    .about = "Shows the devices of this machine for every vendor, the versions "
             "of drivers and\nlibraries, and what ts-record can record; if it "
             "cannot, why and how to fix it.",
    .options = options,
};

static bool is_folder(const char *path)
{
    struct stat about;
    const bool there = stat(path, &about) == 0;
    if (there && S_ISDIR(about.st_mode)) return true;
    cli_error(&tool, path, "%s", strerror(there ? ENOTDIR : errno));
    return false;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (argc > 1) {
        cli_error(&tool, NULL, "does not take files");
        return cli_usage(&tool);
    }
    if (limit_ns <= 0 || limit_ns > INT64_C(3600000000000)) {
        cli_error(&tool, NULL, "--timeout: must be between 1 ns and 1 h");
        return cli_usage(&tool);
    }
    if (*root && !is_folder(root)) return CLI_FAILED;
    devices_answer *const answers =
        calloc(devices_vendor_count, sizeof *answers);
    const bool done =
        answers && devices_query_all(&tool, root, limit_ns, answers);
    if (done && option_json) devices_json(answers);
    if (done && !option_json) devices_text(answers);
    if (answers) devices_close(answers);
    free(answers);
    return cli_finish(&tool, done ? CLI_OK : CLI_FAILED);
}
