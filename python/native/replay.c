/*
    replay.c - a trace replayed: as recorded, and with changes
*/
#include "native.h"

static PyObject *costs_of(const int64_t *costs)
{
    PyObject *const dict = PyDict_New();
    bool done = dict != NULL;
    for (uint32_t i = 0; done && i < TS_COST_LIMIT; i++)
        done = native_set(dict, ts_cost_name(i), PyLong_FromLongLong(costs[i]));
    if (done) return dict;
    Py_XDECREF(dict);
    return NULL;
}

/* ---- As recorded --------------------------------------------------------- */

// What `result` is of ts-replay --json.
static const char *verdict(const ts_replay_stats *s)
{
    if (!s->operations && !s->skipped[TS_SKIP_UNMET]) return "empty";
    return s->different || s->skipped[TS_SKIP_UNMET] ? "diverged" : "same";
}

static PyObject *exact_of(ts_replay *replay)
{
    const ts_replay_stats *const s = ts_replay_result(replay);
    char digest[17];
    ts_path path;
    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)s->digest);
    const bool has_path = ts_replay_path(replay, &path) == TS_OK;
    static const int64_t nothing[TS_COST_LIMIT];
    return Py_BuildValue(
        "{ss ss sK sK sK sL sL sL sK sK ss sN}", "result", verdict(s), "digest",
        digest, "operations", (unsigned long long)s->operations,
        "operations_in_trace", (unsigned long long)s->loaded, "calls",
        (unsigned long long)s->calls, "recorded_makespan_ns",
        (long long)(s->recorded_end_ns - s->recorded_start_ns), "makespan_ns",
        (long long)(s->end_ns - s->start_ns), "start_error_max_ns",
        (long long)s->start_error_max_ns, "different_operations",
        (unsigned long long)s->different, "lost", (unsigned long long)s->lost,
        "bound", has_path ? ts_cost_name(path.bound) : "unknown", "cost_ns",
        costs_of(has_path ? path.cost_ns : nothing));
}

/* ---- With changes -------------------------------------------------------- */

static PyObject *figures_of(const ts_whatif_figures *f)
{
    static const char *const confidences[] = { "high", "medium", "low" };
    return Py_BuildValue(
        "{sz ss ss ss ss sK sK sK sL sL ss sN}", "change", f->change, "assumed",
        f->assumed, "nothing", f->nothing, "confidence",
        confidences[f->confidence], "because", f->because, "meant",
        (unsigned long long)f->meant, "operations",
        (unsigned long long)f->operations, "never_ran",
        (unsigned long long)f->never_ran, "makespan_ns",
        (long long)f->makespan_ns, "change_ns", (long long)f->change_ns,
        "bound", ts_cost_name(f->bound), "cost_ns", costs_of(f->cost_ns));
}

static PyObject *whatifs_of(const ts_whatif *whatif)
{
    ts_whatif_figures f;
    PyObject *const list = PyList_New(0);
    bool done = list != NULL;
    for (size_t i = 0; done && ts_whatif_figures_at(whatif, i, &f); i++) {
        PyObject *const row = figures_of(&f);
        done = row && PyList_Append(list, row) == 0;
        Py_XDECREF(row);
    }
    if (!done) {
        Py_XDECREF(list);
        return NULL;
    }
    return Py_BuildValue(
        "{ss sL sN}", "result", "modelled", "recorded_makespan_ns",
        (long long)ts_whatif_recorded_ns(whatif), "what_ifs", list);
}

/* ---- The schedule -------------------------------------------------------- */

static bool put_schedule(PyObject *result, ts_replay *replay)
{
    static const char *const names[] = { "kind",        "track",
                                         "device",      "correlation",
                                         "recorded_ns", "start_ns",
                                         "end_ns" };
    static const char formats[] = "bIIQqqq";
    void *data[7];
    const size_t count = (size_t)ts_replay_result(replay)->loaded;
    ts_operation o;
    size_t at = 0;
    native_column *columns[7] = { NULL };
    PyObject *const dict = PyDict_New();
    bool done = dict != NULL;
    for (size_t i = 0; done && i < 7; i++) {
        columns[i] = column_new((Py_ssize_t)count, formats[i]);
        if (columns[i]) data[i] = column_data(columns[i]);
        done = native_set(dict, names[i], (PyObject *)columns[i]);
    }
    for (; done && at < count && ts_replay_operation(replay, at, &o); at++) {
        ((int8_t *)data[0])[at] = (int8_t)o.kind;
        ((uint32_t *)data[1])[at] = o.track;
        ((uint32_t *)data[2])[at] = o.device;
        ((uint64_t *)data[3])[at] = o.correlation;
        ((int64_t *)data[4])[at] = o.recorded_start_ns;
        ((int64_t *)data[5])[at] = o.start_ns;
        ((int64_t *)data[6])[at] = o.end_ns;
    }
    for (size_t i = 0; done && i < 7; i++)
        column_cut(columns[i], (Py_ssize_t)at);
    if (done) return native_set(result, "schedule", dict);
    Py_XDECREF(dict);
    return false;
}

/* ---- Both ---------------------------------------------------------------- */

typedef struct run {
    ts_replay *replay;
    ts_whatif *whatif;
    ts_error error;
} run;

// Opens the replay of a trace and runs it.
static ts_result run_it(run *r, ts_reader *reader, const native_texts *changes)
{
    const ts_whatif_desc desc = { .changes = changes->items,
                                  .change_count = changes->count };
    const ts_result result = ts_replay_open(&r->replay, reader, NULL);
    if (result != TS_OK) return result;
    return changes->count
               ? ts_whatif_open(&r->whatif, r->replay, &desc, &r->error)
               : ts_replay_run(r->replay, NULL);
}

PyObject *replay_of(ts_reader *reader, PyObject *changes, const char *path)
{
    native_texts texts;
    run r = { .replay = NULL };
    ts_result result;
    PyObject *made = NULL;
    if (!native_texts_take(&texts, changes, false)) return NULL;
    Py_BEGIN_ALLOW_THREADS result = run_it(&r, reader, &texts);
    Py_END_ALLOW_THREADS if (result != TS_OK)
        native_raise(result,
                     result == TS_ERR_NOT_FOUND
                         ? "nothing can be replayed: the trace contains no "
                           "operation of a device"
                     : *r.error.text ? r.error.text
                                     : NULL,
                     path);
    else made = r.whatif ? whatifs_of(r.whatif) : exact_of(r.replay);
    if (made && !put_schedule(made, r.replay)) {
        Py_DECREF(made);
        made = NULL;
    }
    ts_whatif_close(r.whatif);
    ts_replay_close(r.replay);
    native_texts_free(&texts);
    return made;
}
