// A C++ program: exceptions through zones, overloads, destructors.
#include "tracesmith_replay.h"

#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>
extern "C" {
#include <cmocka.h>
}

static std::string path;

static void start()
{
    ts_session_desc desc = {};
    desc.path = path.c_str();
    assert_int_equal(ts_session_start(&desc), TS_OK);
}

// How often each "kind name" is in the trace; arguments by their own name.
static std::map<std::string, int> read_back()
{
    std::map<std::string, int> counts;
    ts_reader *reader = nullptr;
    ts_cursor *cursor = nullptr;
    ts_reader_desc desc = {};
    ts_event event;
    desc.path = path.c_str();
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_int_equal(ts_reader_verify(reader), TS_OK);
    assert_true(ts_reader_info(reader)->finished);
    assert_int_equal(ts_reader_info(reader)->lost, 0);
    assert_int_equal(ts_cursor_open(&cursor, reader, nullptr), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        std::string key = ts_event_name(uint32_t(event.kind));
        const auto site = uint32_t(ts_event_value(&event, TS_COLUMN_SITE));
        const auto name = uint32_t(ts_event_value(&event, TS_COLUMN_NAME));
        const auto type = ts_event_value(&event, TS_COLUMN_TYPE);
        const auto value = ts_event_value(&event, TS_COLUMN_VALUE);
        if (event.kind == TS_EVENT_ZONE_ARG) {
            double real;
            memcpy(&real, &value, sizeof real);
            key += std::string(" ") + ts_reader_name(reader, name).text + "=" +
                   (type == TS_VALUE_INT ? std::to_string(int64_t(value))
                                         : std::to_string(real));
        } else if (site && event.kind != TS_EVENT_MESSAGE) {
            key += std::string(" ") + ts_reader_site_name(reader, site).text;
        }
        counts[key]++;
    }
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    return counts;
}

static void throw_at(int depth)
{
    TS_ZONE("thrown through", "errors", 0xFF0000);
    if (depth == 0) throw std::runtime_error("out");
    throw_at(depth - 1);
}

static void exceptions_end_the_zones_that_they_leave(void **)
{
    start();
    for (int i = 0; i < 100; i++) {
        TS_ZONE("around");
        try {
            TS_ZONE("try block");
            throw_at(4);
        } catch (const std::exception &error) {
            TS_ZONE("catch block");
            TS_MESSAGE(error.what());
        }
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    auto counts = read_back();
    assert_int_equal(counts["zone thrown through"], 500);
    assert_int_equal(counts["zone around"], 100);
    assert_int_equal(counts["zone try block"], 100);
    assert_int_equal(counts["zone catch block"], 100);
    assert_int_equal(counts["message"], 100);
    assert_int_equal(counts.size(), 5);
}

enum plain_enum { SEVEN = 7 };

static void numbers_of_every_type_are_taken(void **)
{
    start();
    {
        TS_ZONE("numbers");
        TS_ZONE_VALUE("bool", true);
        TS_ZONE_VALUE("char", 'A');
        TS_ZONE_VALUE("short", short(-2));
        TS_ZONE_VALUE("int", -3);
        TS_ZONE_VALUE("unsigned", 4u);
        TS_ZONE_VALUE("long", -5l);
        TS_ZONE_VALUE("size_t", sizeof(int));
        TS_ZONE_VALUE("long long", 6ll);
        TS_ZONE_VALUE("uint64_t", uint64_t(8));
        TS_ZONE_VALUE("float", 0.5f);
        TS_ZONE_VALUE("double", 0.25);
        TS_ZONE_VALUE("enum", SEVEN);
        TS_COUNTER("counter", sizeof(int));
        TS_COUNTER("counter", 1.5);
        TS_COUNTER("counter", std::vector<int>(3).size());
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    auto counts = read_back();
    for (const char *key :
         { "bool=1", "char=65", "short=-2", "int=-3", "unsigned=4", "long=-5",
           "size_t=4", "long long=6", "uint64_t=8", "float=0.500000",
           "double=0.250000", "enum=7" })
        if (counts[std::string("zone_arg ") + key] != 1) fail_msg("no %s", key);
    assert_int_equal(counts["counter"], 3);
}

struct worker {
    template <typename T> T twice(T value) const
    {
        TS_FUNCTION();
        return value + value;
    }
};

static void functions_of_every_sort_have_zones(void **)
{
    start();
    worker one;
    one.twice(1);
    one.twice(1.5);
    const auto lambda = [](int n) {
        TS_ZONE("lambda");
        return n + 1;
    };
    const std::function<int(int)> function = lambda;
    function(lambda(1));
    { // two on one line, and by hand
        TS_ZONE("left");
        TS_ZONE("right");
        TS_ZONE_BEGIN(manual, "manual");
        TS_ZONE_END(manual);
        TS_ZONE_END(manual);
        TS_ZONE_NAME(std::string("made ").append("here").c_str());
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    auto counts = read_back();
    assert_int_equal(counts["zone twice"], 2);
    assert_int_equal(counts["zone lambda"], 2);
    assert_int_equal(counts["zone left"], 1);
    assert_int_equal(counts["zone right"], 1);
    assert_int_equal(counts["zone manual"], 1);
    assert_int_equal(counts["zone made here"], 1);
}

struct recording_destructor {
    const char *text;
    ~recording_destructor()
    {
        TS_ZONE("destructor");
        TS_MESSAGE(text);
    }
};

static void thread_local_destructors_may_record(void **)
{
    start();
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; i++)
        threads.emplace_back([] {
            static thread_local recording_destructor last = { "thread" };
            TS_ZONE("thread");
            (void)last.text;
        });
    for (std::thread &thread : threads)
        thread.join();
    assert_int_equal(ts_session_stop(), TS_OK);
    auto counts = read_back();
    assert_int_equal(counts["zone thread"], 20);
    assert_int_equal(counts["zone destructor"], 20);
    assert_int_equal(counts["message"], 20);
}

// Statics go after main has returned, and after the session has stopped or
// before, by the order in which they were made: both must be harmless.
static void destructors_of_statics_may_record(void **)
{
    fflush(nullptr);
    const pid_t pid = fork();
    if (!pid) {
        start();
        static recording_destructor late = { "static" };
        {
            TS_ZONE("in the program");
            (void)late.text;
        }
        exit(5);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    assert_int_equal(read_back()["zone in the program"], 1);
}

static void an_uncaught_exception_loses_nothing(void **)
{
    fflush(nullptr);
    const pid_t pid = fork();
    if (!pid) {
        start();
        {
            TS_ZONE("before");
        }
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        std::set_terminate([] { abort(); });
        []() noexcept { throw_at(2); }();
        _exit(0);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    auto counts = read_back();
    assert_int_equal(counts["zone before"], 1);
    // the stack may or may not have been unwound before the end
    assert_int_equal(
        counts["zone thrown through"] + counts["zone_open thrown through"], 3);
}

int main()
{
    char folder[] = "/tmp/ts-test-XXXXXX";
    if (!mkdtemp(folder)) return 1;
    path = std::string(folder) + "/cxx.sbt";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exceptions_end_the_zones_that_they_leave),
        cmocka_unit_test(numbers_of_every_type_are_taken),
        cmocka_unit_test(functions_of_every_sort_have_zones),
        cmocka_unit_test(thread_local_destructors_may_record),
        cmocka_unit_test(destructors_of_statics_may_record),
        cmocka_unit_test(an_uncaught_exception_loses_nothing),
    };
    const int failed = cmocka_run_group_tests(tests, nullptr, nullptr);
    unlink(path.c_str());
    rmdir(folder);
    return failed;
}
