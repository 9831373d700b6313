/*
    reader.c - an open trace: what it says of itself, its events, its timeline
*/
#include "native.h"

typedef struct reader_object {
    PyObject_HEAD ts_reader *reader; // NULL: closed
    uint32_t users;                  // calls that read without the GIL
    PyObject *path;
} reader_object;

// The reader, for a call that may give up the GIL; NULL: an exception is set.
// Call leave afterwards.
static ts_reader *enter(PyObject *self)
{
    reader_object *const r = (reader_object *)self;
    if (!r->reader) {
        native_raise(TS_ERR_STATE, "the trace is closed: open it again",
                     PyBytes_AsString(r->path));
        return NULL;
    }
    r->users++;
    return r->reader;
}

static void leave(PyObject *self)
{
    ((reader_object *)self)->users--;
}

/* ---- Opening ------------------------------------------------------------- */

static PyObject *reader_make(PyTypeObject *type, PyObject *args,
                             PyObject *keywords)
{
    static char *names[] = { "path", "salvage", "threads", NULL };
    PyObject *path;
    int salvage = 1;
    ts_reader_desc desc = { 0 };
    ts_result result;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O&|pI", names,
                                     PyUnicode_FSConverter, &path, &salvage,
                                     &desc.threads))
        return NULL;
    allocfunc const make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    reader_object *const r = (reader_object *)make(type, 0);
    if (!r) {
        Py_DECREF(path);
        return NULL;
    }
    r->path = path;
    desc.path = PyBytes_AsString(path);
    desc.no_salvage = !salvage;
    ts_reader *reader = NULL;
    Py_BEGIN_ALLOW_THREADS result = ts_reader_open(&reader, &desc);
    Py_END_ALLOW_THREADS r->reader = reader;
    if (result == TS_OK) return (PyObject *)r;
    native_raise(result, NULL, desc.path);
    Py_DECREF(r);
    return NULL;
}

static void reader_free(PyObject *self)
{
    reader_object *const r = (reader_object *)self;
    PyTypeObject *const type = Py_TYPE(self);
    ts_reader_close(r->reader);
    Py_XDECREF(r->path);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyObject *reader_close(PyObject *self, PyObject *unused)
{
    reader_object *const r = (reader_object *)self;
    (void)unused;
    if (r->users)
        return native_raise(
            TS_ERR_STATE,
            "the trace is in use: close it when the other thread "
            "has read",
            PyBytes_AsString(r->path));
    ts_reader_close(r->reader);
    r->reader = NULL;
    Py_RETURN_NONE;
}

/* ---- What it says of itself ---------------------------------------------- */

static PyObject *counts_of(const uint64_t *counts)
{
    PyObject *const dict = PyDict_New();
    bool done = dict != NULL;
    for (uint32_t i = 0; done && i < TS_EVENT_LIMIT; i++)
        if (counts[i])
            done = native_set(dict, ts_event_name(i),
                              PyLong_FromUnsignedLongLong(counts[i]));
    if (done) return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *reader_info(PyObject *self, PyObject *unused)
{
    ts_reader *const reader = enter(self);
    (void)unused;
    if (!reader) return NULL;
    const ts_info *const i = ts_reader_info(reader);
    PyObject *const counts = counts_of(i->counts);
    PyObject *const info =
        counts ? Py_BuildValue(
                     "{sN sI sK sK sL sL sK sK sK sO sO sO sO}", "counts",
                     counts, "process", i->process, "file_bytes",
                     (unsigned long long)i->file_bytes, "start_realtime_ns",
                     (unsigned long long)i->start_realtime_ns, "first_ns",
                     (long long)i->first_ns, "last_ns", (long long)i->last_ns,
                     "lost", (unsigned long long)i->lost, "salvaged",
                     (unsigned long long)i->salvaged, "damage",
                     (unsigned long long)ts_reader_damage_count(reader),
                     "finished", i->finished ? Py_True : Py_False, "indexed",
                     i->indexed ? Py_True : Py_False, "live",
                     i->live ? Py_True : Py_False, "clock_estimated",
                     i->clock_estimated ? Py_True : Py_False)
               : NULL;
    leave(self);
    return info;
}

static const char *track_type(ts_track_type type)
{
    static const char *const names[] = { "unknown", "process", "thread",
                                         "device",  "context", "stream",
                                         "counter" };
    return type <= TS_TRACK_COUNTER ? names[type] : "unknown";
}

// A row of a list: a new reference; NULL at the end, or with an exception.
typedef PyObject *(*row_at)(const void *from, size_t index);

static PyObject *list_of(row_at row, const void *from)
{
    PyObject *const list = PyList_New(0);
    PyObject *one;
    for (size_t i = 0; list && (one = row(from, i)); i++) {
        const bool added = PyList_Append(list, one) == 0;
        Py_DECREF(one);
        if (!added) break;
    }
    if (!PyErr_Occurred()) return list;
    Py_XDECREF(list);
    return NULL;
}

// The rows of an open reader.
static PyObject *rows_of(PyObject *self, row_at row)
{
    ts_reader *const reader = enter(self);
    if (!reader) return NULL;
    PyObject *const list = list_of(row, reader);
    leave(self);
    return list;
}

static PyObject *track_row(const void *reader, size_t index)
{
    ts_track t;
    if (!ts_reader_track_at(reader, index, &t)) return NULL;
    return Py_BuildValue("(IsNKINK)", t.id, track_type(t.type),
                         native_text(t.name), (unsigned long long)t.number,
                         t.parent, native_text(t.unit),
                         (unsigned long long)t.flags);
}

// [(id, type, name, number, parent, unit, flags), ...]
static PyObject *reader_tracks(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, track_row);
}

static PyObject *value_of(const ts_metadata *m)
{
    if (m->type == TS_VALUE_INT) return PyLong_FromLongLong(m->number);
    if (m->type == TS_VALUE_DOUBLE) return PyFloat_FromDouble(m->real);
    return native_text(m->text);
}

static PyObject *metadata_row(const void *reader, size_t index)
{
    ts_metadata m;
    if (!ts_reader_metadata_at(reader, index, &m)) return NULL;
    return Py_BuildValue("(INN)", m.track, native_text(m.key), value_of(&m));
}

// [(track, key, value), ...]
static PyObject *reader_metadata(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, metadata_row);
}

static PyObject *loss_row(const void *reader, size_t index)
{
    ts_loss_row l;
    if (!ts_reader_loss(reader, index, &l)) return NULL;
    return Py_BuildValue("{sI ss sN sK sL sL sK}", "track", l.track, "cause",
                         ts_loss_name(l.cause), "detail",
                         native_text(ts_reader_name(reader, l.detail)), "count",
                         (unsigned long long)l.count, "first_ns",
                         (long long)l.first_ns, "last_ns", (long long)l.last_ns,
                         "stall_ns", (unsigned long long)l.stall_ns);
}

static PyObject *reader_losses(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, loss_row);
}

static PyObject *damage_row(const void *reader, size_t index)
{
    ts_damage d;
    if (!ts_reader_damage(reader, index, &d)) return NULL;
    return Py_BuildValue("{ss ss sK sK}", "result", ts_result_text(d.result),
                         "text", d.text, "offset", (unsigned long long)d.offset,
                         "size", (unsigned long long)d.size);
}

static PyObject *reader_damage(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, damage_row);
}

// Checks every chunk; the damage is then listed.
static PyObject *reader_verify(PyObject *self, PyObject *unused)
{
    ts_reader *const reader = enter(self);
    ts_result result;
    (void)unused;
    if (!reader) return NULL;
    Py_BEGIN_ALLOW_THREADS result = ts_reader_verify(reader);
    Py_END_ALLOW_THREADS leave(self);
    return PyBool_FromLong(result == TS_OK);
}

static PyObject *reader_columns(PyObject *self, PyObject *args,
                                PyObject *keywords)
{
    ts_reader *const reader = enter(self);
    if (!reader) return NULL;
    PyObject *const columns = columns_of(reader, args, keywords);
    leave(self);
    return columns;
}

/* ---- Dictionaries -------------------------------------------------------- */

static PyObject *site_row(const void *reader, size_t index)
{
    if (index >= ts_reader_entry_count(reader, TS_CHUNK_SITES)) return NULL;
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_SITES, index);
    const ts_site_entry *const s = ts_reader_site(reader, id);
    if (!s) return Py_BuildValue("{sI}", "id", id);
    return Py_BuildValue(
        "{sI sN sN sN sN sI sI}", "id", id, "name",
        native_text(ts_reader_site_name(reader, id)), "category",
        native_text(ts_reader_name(reader, s->category)), "function",
        native_text(ts_reader_name(reader, s->function)), "file",
        native_text(ts_reader_name(reader, s->file)), "line", s->line, "color",
        s->color);
}

static PyObject *launch_row(const void *reader, size_t index)
{
    if (index >= ts_reader_entry_count(reader, TS_CHUNK_LAUNCHES)) return NULL;
    const uint32_t id = ts_reader_entry(reader, TS_CHUNK_LAUNCHES, index);
    const ts_launch_entry *const l = ts_reader_launch(reader, id);
    if (!l) return Py_BuildValue("{sI}", "id", id);
    return Py_BuildValue(
        "{sI sN s(III) s(III) sI sI sI sI}", "id", id, "name",
        native_text(ts_reader_name(reader, l->name)), "grid", l->grid[0],
        l->grid[1], l->grid[2], "block", l->block[0], l->block[1], l->block[2],
        "registers", l->registers, "static_shared", l->static_shared,
        "dynamic_shared", l->dynamic_shared, "local", l->local);
}

static PyObject *reader_sites(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, site_row);
}

static PyObject *reader_launches(PyObject *self, PyObject *unused)
{
    (void)unused;
    return rows_of(self, launch_row);
}

static PyObject *reader_name(PyObject *self, PyObject *number)
{
    ts_reader *const reader = enter(self);
    if (!reader) return NULL;
    const uint32_t name = (uint32_t)PyLong_AsUnsignedLongMask(number);
    PyObject *const text =
        PyErr_Occurred() ? NULL : native_text(ts_reader_name(reader, name));
    leave(self);
    return text;
}

/* ---- Timeline ------------------------------------------------------------ */

typedef struct timed {
    ts_reader *reader;
    ts_replay *replay;
    ts_timeline *timeline;
} timed;

static void timed_close(timed *t)
{
    ts_timeline_close(t->timeline);
    ts_replay_close(t->replay);
}

static ts_result timed_open(timed *t, int64_t from_ns, int64_t to_ns)
{
    const ts_timeline_desc desc = { .from_ns = from_ns, .to_ns = to_ns };
    const ts_result result = ts_replay_open(&t->replay, t->reader, NULL);
    return result == TS_OK ? ts_timeline_open(&t->timeline, t->replay, &desc)
                           : result;
}

static PyObject *times_of(const int64_t *times, uint32_t count,
                          const char *(*name)(uint32_t))
{
    PyObject *const dict = PyDict_New();
    bool done = dict != NULL;
    for (uint32_t i = 0; done && i < count; i++)
        done = native_set(dict, name(i), PyLong_FromLongLong(times[i]));
    if (done) return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *figures_of(ts_reader *reader, const ts_timeline_figures *f)
{
    ts_track track;
    const bool known = f->track && ts_reader_track(reader, f->track, &track);
    const int64_t span = f->busy_ns + f->idle_ns;
    return Py_BuildValue(
        "{sI sN sK sL sL sL sL sd sN sN sN sL sL sL sK sL sL sL sI sd}",
        "track", f->track, "name",
        known ? native_text(track.name) : PyUnicode_FromString(""),
        "operations", (unsigned long long)f->operations, "start_ns",
        (long long)f->start_ns, "end_ns", (long long)f->end_ns, "busy_ns",
        (long long)f->busy_ns, "idle_ns", (long long)f->idle_ns, "utilisation",
        span > 0 ? (double)f->busy_ns / (double)span : 0.0, "work_ns",
        times_of(f->work_ns, TS_WORK_LIMIT, ts_work_name), "only_ns",
        times_of(f->only_ns, TS_WORK_LIMIT, ts_work_name), "cause_ns",
        times_of(f->cause_ns, TS_IDLE_LIMIT, ts_idle_name), "explicit_ns",
        (long long)f->explicit_ns, "inferred_ns", (long long)f->inferred_ns,
        "unexplained_ns", (long long)f->unexplained_ns, "launches",
        (unsigned long long)f->launches, "launch_p50_ns",
        (long long)f->launch_p50_ns, "launch_p95_ns",
        (long long)f->launch_p95_ns, "launch_max_ns",
        (long long)f->launch_max_ns, "queue_max", f->queue_max, "queue_mean",
        span > 0 ? (double)f->queue_ns / (double)span : 0.0);
}

static PyObject *concurrency_of(const timed *t, size_t device)
{
    const int64_t *times;
    const size_t count = ts_timeline_concurrency(t->timeline, device, &times);
    PyObject *const list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list && i < count; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromLongLong(times[i]));
    return list;
}

// A dictionary of new columns; on failure all are gone and NULL is returned.
static PyObject *columns_new(Py_ssize_t count, const char *const *names,
                             const char *formats, void **data)
{
    PyObject *const dict = PyDict_New();
    bool done = dict != NULL;
    for (size_t i = 0; done && formats[i]; i++) {
        native_column *const column = column_new(count, formats[i]);
        if (column) data[i] = column_data(column);
        done = native_set(dict, names[i], (PyObject *)column);
    }
    if (done) return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *gaps_of(const timed *t, size_t device)
{
    static const char *const names[] = { "start_ns",  "end_ns",  "cause",
                                         "operation", "culprit", "inferred" };
    const size_t count = ts_timeline_gap_count(t->timeline, device);
    void *data[6];
    ts_gap gap;
    PyObject *const dict =
        columns_new((Py_ssize_t)count, names, "qqbIIb", data);
    for (size_t i = 0; dict && i < count; i++) {
        if (!ts_timeline_gap(t->timeline, device, i, &gap)) break;
        ((int64_t *)data[0])[i] = gap.start_ns;
        ((int64_t *)data[1])[i] = gap.end_ns;
        ((int8_t *)data[2])[i] = (int8_t)gap.cause;
        ((uint32_t *)data[3])[i] = gap.operation;
        ((uint32_t *)data[4])[i] = gap.culprit;
        ((int8_t *)data[5])[i] = gap.inferred;
    }
    return dict;
}

static PyObject *states_of(const timed *t, size_t stream)
{
    static const char *const names[] = { "start_ns", "end_ns", "state" };
    ts_state_spans spans = ts_timeline_state_spans(t->timeline, stream);
    ts_state_span span;
    Py_ssize_t count = 0, at = 0;
    void *data[3];
    while (ts_state_spans_next(&spans, &span))
        count++;
    PyObject *const dict = columns_new(count, names, "qqb", data);
    spans = ts_timeline_state_spans(t->timeline, stream);
    for (; dict && at < count && ts_state_spans_next(&spans, &span); at++) {
        ((int64_t *)data[0])[at] = span.start_ns;
        ((int64_t *)data[1])[at] = span.end_ns;
        ((int8_t *)data[2])[at] = (int8_t)span.state;
    }
    return dict;
}

static PyObject *device_row(const void *from, size_t device)
{
    const timed *const t = from;
    const ts_timeline_figures *const f =
        ts_timeline_device(t->timeline, device);
    PyObject *const dict = f ? figures_of(t->reader, f) : NULL;
    if (dict && native_set(dict, "concurrency_ns", concurrency_of(t, device)) &&
        native_set(dict, "gaps", gaps_of(t, device)))
        return dict;
    Py_XDECREF(dict);
    return NULL;
}

static PyObject *stream_row(const void *from, size_t stream)
{
    const timed *const t = from;
    ts_lane lane;
    ts_track track;
    if (!ts_replay_lane(t->replay, stream, &lane)) return NULL;
    const bool known = ts_reader_track(t->reader, lane.track, &track);
    return Py_BuildValue(
        "{sI sI sN sK sN}", "track", lane.track, "device", lane.device, "name",
        known ? native_text(track.name) : PyUnicode_FromString(""), "number",
        known ? (unsigned long long)track.number : 0ull, "states",
        states_of(t, stream));
}

static PyObject *describe(const timed *t)
{
    return Py_BuildValue("{sN sN sN}", "total",
                         figures_of(t->reader, ts_timeline_total(t->timeline)),
                         "devices", list_of(device_row, t), "streams",
                         list_of(stream_row, t));
}

static PyObject *reader_timeline(PyObject *self, PyObject *args)
{
    long long from_ns = 0, to_ns = 0;
    timed t = { 0 };
    ts_result result;
    PyObject *made = NULL;
    if (!PyArg_ParseTuple(args, "|LL", &from_ns, &to_ns)) return NULL;
    if (!(t.reader = enter(self))) return NULL;
    Py_BEGIN_ALLOW_THREADS result = timed_open(&t, from_ns, to_ns);
    Py_END_ALLOW_THREADS if (result == TS_OK) made = describe(&t);
    else native_raise(result,
                      result == TS_ERR_NOT_FOUND
                          ? "there is no timeline: the trace contains no "
                            "operation of a device"
                          : NULL,
                      PyBytes_AsString(((reader_object *)self)->path));
    timed_close(&t);
    leave(self);
    return made;
}

static PyObject *reader_replay(PyObject *self, PyObject *changes)
{
    ts_reader *const reader = enter(self);
    if (!reader) return NULL;
    PyObject *const made = replay_of(
        reader, changes, PyBytes_AsString(((reader_object *)self)->path));
    leave(self);
    return made;
}

/* ---- Module -------------------------------------------------------------- */

static PyMethodDef methods[] = {
    { "close", reader_close, METH_NOARGS, "Close the trace." },
    { "info", reader_info, METH_NOARGS, "What the trace says of itself." },
    { "tracks", reader_tracks, METH_NOARGS, "Its tracks." },
    { "metadata", reader_metadata, METH_NOARGS, "Its facts." },
    { "losses", reader_losses, METH_NOARGS, "What was lost." },
    { "damage", reader_damage, METH_NOARGS, "What cannot be read." },
    { "verify", reader_verify, METH_NOARGS, "Check every chunk." },
    { "columns", NATIVE_METHOD(reader_columns), METH_VARARGS | METH_KEYWORDS,
      "Events of a kind as columns." },
    { "sites", reader_sites, METH_NOARGS, "Places in the source." },
    { "launches", reader_launches, METH_NOARGS, "Kernels." },
    { "name", reader_name, METH_O, "The name of a number." },
    { "replay", reader_replay, METH_O, "A replay, with changes." },
    { "timeline", reader_timeline, METH_VARARGS, "What devices did when." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot slots[] = {
    { Py_tp_new, (void *)reader_make },
    { Py_tp_dealloc, (void *)reader_free },
    { Py_tp_methods, methods },
    { 0, NULL },
};

static PyType_Spec spec = {
    .name = "tracesmith._tracesmith.Reader",
    .basicsize = sizeof(reader_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static PyObject *names_of(uint32_t count, const char *(*name)(uint32_t))
{
    PyObject *const list = PyList_New((Py_ssize_t)count);
    for (uint32_t i = 0; list && i < count; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyUnicode_FromString(name(i)));
    return list;
}

static bool add_list(PyObject *module, const char *name, PyObject *list)
{
    if (list && PyModule_AddObject(module, name, list) == 0) return true;
    Py_XDECREF(list);
    return false;
}

bool reader_add(PyObject *module)
{
    PyTypeObject *const type = native_type(module, &spec);
    Py_XDECREF((PyObject *)type); // the module has it
    return type &&
           add_list(module, "idle_causes",
                    names_of(TS_IDLE_LIMIT, ts_idle_name)) &&
           add_list(module, "stream_states",
                    names_of(TS_STATE_LIMIT, ts_state_name)) &&
           add_list(module, "event_kinds",
                    names_of(TS_EVENT_LIMIT, ts_event_name));
}
