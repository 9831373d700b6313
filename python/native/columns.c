/*
    columns.c - events of a kind as arrays, which show themselves as buffers

    The reader decodes chunks on all processors; each writes its rows where
    they belong, so that nothing is copied twice and no Python object is made
    for a row.
*/
#include "native.h"
#include <math.h>
#include <sys/mman.h>

/* ---- Columns ------------------------------------------------------------- */

struct native_column {
    PyObject_HEAD void *data;
    size_t mapped;
    Py_ssize_t count, item;
    char format[2];
};

static PyTypeObject *column_type;

static Py_ssize_t size_of(char format)
{
    switch (format) {
    case 'b': return 1;
    case 'h': return 2;
    case 'i':
    case 'I': return 4;
    default: return 8;
    }
}

native_column *column_new(Py_ssize_t count, char format)
{
    const Py_ssize_t item = size_of(format);
    const size_t size = (size_t)count * (size_t)item;
    // Pages of zeros, given when they are touched; large ones are fewer.
    void *const data =
        (size_t)count > PY_SSIZE_T_MAX / (size_t)item
            ? MAP_FAILED
            : mmap(NULL, size + 1, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED) return (native_column *)PyErr_NoMemory();
    madvise(data, size + 1, MADV_HUGEPAGE);
    native_column *const c = PyObject_New(native_column, column_type);
    if (!c) {
        munmap(data, size + 1);
        return NULL;
    }
    c->data = data;
    c->mapped = size + 1;
    c->count = count;
    c->item = item;
    c->format[0] = format;
    c->format[1] = 0;
    return c;
}

void *column_data(native_column *column)
{
    return column->data;
}

void column_cut(native_column *column, Py_ssize_t count)
{
    column->count = count;
}

static void column_free(PyObject *self)
{
    native_column *const c = (native_column *)self;
    PyTypeObject *const type = Py_TYPE(self);
    munmap(c->data, c->mapped);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int column_buffer(PyObject *self, Py_buffer *view, int flags)
{
    native_column *const c = (native_column *)self;
    (void)flags;
    *view = (Py_buffer){ .buf = c->data,
                         .obj = self,
                         .len = c->count * c->item,
                         .itemsize = c->item,
                         .ndim = 1,
                         .format = c->format,
                         .shape = &c->count,
                         .strides = &c->item };
    Py_INCREF(self);
    return 0;
}

static Py_ssize_t column_length(PyObject *self)
{
    return ((native_column *)self)->count;
}

static PyObject *column_item(PyObject *self, Py_ssize_t at)
{
    const native_column *const c = (const native_column *)self;
    if (at < 0 || at >= c->count) {
        PyErr_SetString(PyExc_IndexError, "there are not so many rows");
        return NULL;
    }
    const void *const data = c->data;
    switch (c->format[0]) {
    case 'b': return PyLong_FromLong(((const int8_t *)data)[at]);
    case 'h': return PyLong_FromLong(((const int16_t *)data)[at]);
    case 'i': return PyLong_FromLong(((const int32_t *)data)[at]);
    case 'I': return PyLong_FromUnsignedLong(((const uint32_t *)data)[at]);
    case 'q': return PyLong_FromLongLong(((const int64_t *)data)[at]);
    case 'd': return PyFloat_FromDouble(((const double *)data)[at]);
    default: return PyLong_FromUnsignedLongLong(((const uint64_t *)data)[at]);
    }
}

static PyType_Slot column_slots[] = {
    { Py_tp_dealloc, (void *)column_free },
    { Py_sq_length, (void *)column_length },
    { Py_sq_item, (void *)column_item },
#if PY_VERSION_HEX >= 0x03090000
    { Py_bf_getbuffer, (void *)column_buffer },
#endif
    { Py_tp_doc, "An array of numbers; numpy.asarray(column) copies nothing." },
    { 0, NULL },
};

static PyType_Spec column_spec = {
    .name = "tracesmith._tracesmith.Column",
    .basicsize = sizeof(native_column),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = column_slots,
};

bool columns_add(PyObject *module)
{
    column_type = native_type(module, &column_spec);
#if PY_VERSION_HEX < 0x03090000
    if (column_type) column_type->tp_as_buffer->bf_getbuffer = column_buffer;
#endif
    return column_type != NULL;
}

/* ---- Names as codes ------------------------------------------------------ */

// Codes of the names of a dictionary's entries; -1: an entry without a name.
typedef struct codes {
    uint32_t *ids; // ascending
    int32_t *codes;
    size_t count;
    int32_t *direct; // by id, for ids below `limit`
    uint32_t limit;
    PyObject *texts; // the names, each once
} codes;

static void codes_free(codes *c)
{
    PyMem_Free(c->ids);
    PyMem_Free(c->codes);
    PyMem_Free(c->direct);
    Py_XDECREF(c->texts);
}

// The name of entry `id`.
static ts_text name_of(ts_reader *reader, ts_chunk_kind dictionary, uint32_t id)
{
    static const ts_text none = { "", 0 };
    const ts_launch_entry *launch;
    switch (dictionary) {
    case TS_CHUNK_SITES: return ts_reader_site_name(reader, id);
    case TS_CHUNK_LAUNCHES:
        launch = ts_reader_launch(reader, id);
        return launch ? ts_reader_name(reader, launch->name) : none;
    case TS_CHUNK_TRACKS: {
        ts_track track;
        return ts_reader_track(reader, id, &track) ? track.name : none;
    }
    default: return ts_reader_name(reader, id);
    }
}

// The code of a text: its place in `texts`. -2: an exception is set.
static int32_t code_of(codes *c, PyObject *seen, ts_text text)
{
    PyObject *const name = native_text(text);
    PyObject *const known = name ? PyDict_GetItemWithError(seen, name) : NULL;
    int32_t code = -2;
    if (known) {
        code = (int32_t)PyLong_AsLong(known);
    } else if (name && !PyErr_Occurred()) {
        const Py_ssize_t at = PyList_Size(c->texts);
        PyObject *const number = PyLong_FromSsize_t(at);
        if (number && PyList_Append(c->texts, name) == 0 &&
            PyDict_SetItem(seen, name, number) == 0)
            code = (int32_t)at;
        Py_XDECREF(number);
    }
    Py_XDECREF(name);
    return code;
}

static bool codes_fill(codes *c, ts_reader *reader, ts_chunk_kind dictionary)
{
    enum { DIRECT = 1 << 22 };
    PyObject *const seen = PyDict_New();
    bool done = seen != NULL;
    for (size_t i = 0; done && i < c->count; i++) {
        const uint32_t id = ts_reader_entry(reader, dictionary, i);
        const ts_text text = name_of(reader, dictionary, id);
        c->ids[i] = id;
        c->codes[i] = text.size ? code_of(c, seen, text) : -1;
        done = c->codes[i] != -2;
    }
    Py_XDECREF(seen);
    c->limit = c->count ? c->ids[c->count - 1] + 1 : 0;
    if (!done || c->limit > DIRECT || !c->limit) {
        c->limit = 0;
        return done;
    }
    c->direct = PyMem_Malloc(c->limit * sizeof *c->direct);
    if (!c->direct) return PyErr_NoMemory(), false;
    memset(c->direct, 0xFF, c->limit * sizeof *c->direct);
    for (size_t i = 0; i < c->count; i++)
        c->direct[c->ids[i]] = c->codes[i];
    return true;
}

static bool codes_make(codes *c, ts_reader *reader, ts_chunk_kind dictionary)
{
    c->count = ts_reader_entry_count(reader, dictionary);
    c->ids = PyMem_Malloc((c->count + 1) * sizeof *c->ids);
    c->codes = PyMem_Malloc((c->count + 1) * sizeof *c->codes);
    c->texts = PyList_New(0);
    if (!c->ids || !c->codes) PyErr_NoMemory();
    return c->ids && c->codes && c->texts && codes_fill(c, reader, dictionary);
}

static int32_t codes_find(const codes *c, uint32_t id)
{
    if (c->direct) return id < c->limit ? c->direct[id] : -1;
    size_t from = 0, to = c->count;
    while (from < to) {
        const size_t middle = (from + to) / 2;
        if (c->ids[middle] < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < c->count && c->ids[from] == id ? c->codes[from] : -1;
}

/* ---- What is asked for --------------------------------------------------- */

typedef enum source {
    START,
    DURATION,
    TRACK,
    NAME,
    TIME,
    NUMBER,
    VALUE
} source;

typedef struct target {
    const char *name;
    source source;
    ts_column column;
    char format;
    native_column *made;
} target;

enum { TARGETS = TS_COLUMN_LIMIT + 4 };

typedef struct job {
    ts_reader *reader;
    ts_event_kind kind;
    ts_filter filter;
    uint32_t *tracks;
    bool ranged;
    target targets[TARGETS];
    size_t target_count;
    ts_chunk_kind dictionary; // of the names; 0: the kind has none
    ts_column names;          // the column with their numbers; 0: the track
    codes codes;
    size_t chunk_count;
    size_t *offsets; // of each chunk's first row; SIZE_MAX: not asked for
    uint32_t *kept;  // rows of it
    size_t rows;
} job;

static bool has(ts_event_kind kind, ts_column column)
{
    const uint8_t *const columns = ts_event_columns(kind);
    for (size_t i = 0; columns && columns[i]; i++)
        if (columns[i] == column) return true;
    return false;
}

// Where the name of an event of the kind is.
static void find_names(job *j)
{
    static const struct {
        ts_event_kind kind;
        ts_column column;
        ts_chunk_kind dictionary;
    } all[] = {
        { TS_EVENT_ZONE, TS_COLUMN_SITE, TS_CHUNK_SITES },
        { TS_EVENT_ZONE_OPEN, TS_COLUMN_SITE, TS_CHUNK_SITES },
        { TS_EVENT_MARK, TS_COLUMN_SITE, TS_CHUNK_SITES },
        { TS_EVENT_FRAME, TS_COLUMN_SITE, TS_CHUNK_SITES },
        { TS_EVENT_SPAN, TS_COLUMN_SITE, TS_CHUNK_SITES },
        { TS_EVENT_ZONE_ARG, TS_COLUMN_NAME, TS_CHUNK_NAMES },
        { TS_EVENT_API_CALL, TS_COLUMN_NAME, TS_CHUNK_NAMES },
        { TS_EVENT_SAMPLE, TS_COLUMN_NAME, TS_CHUNK_NAMES },
        { TS_EVENT_COLLECTIVE, TS_COLUMN_NAME, TS_CHUNK_NAMES },
        { TS_EVENT_HOST_FUNCTION, TS_COLUMN_NAME, TS_CHUNK_NAMES },
        { TS_EVENT_KERNEL, TS_COLUMN_LAUNCH, TS_CHUNK_LAUNCHES },
        { TS_EVENT_COUNTER, (ts_column)0, TS_CHUNK_TRACKS },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].kind == j->kind) {
            j->names = all[i].column;
            j->dictionary = all[i].dictionary;
        }
}

static void add(job *j, const char *name, source source, ts_column column,
                char format)
{
    j->targets[j->target_count++] =
        (target){ name, source, column, format, NULL };
}

// Of a number: whether 32 bits hold it.
static bool is_short(ts_column column)
{
    switch (column) {
    case TS_COLUMN_VALUE:
    case TS_COLUMN_ADDRESS:
    case TS_COLUMN_SIZE:
    case TS_COLUMN_ID:
    case TS_COLUMN_CORRELATION:
    case TS_COLUMN_RESULT:
    case TS_COLUMN_GRAPH_NODE:
    case TS_COLUMN_GRAPH:
    case TS_COLUMN_SOURCE:
    case TS_COLUMN_RECORD:
    case TS_COLUMN_COMMUNICATOR:
    case TS_COLUMN_SEQUENCE: return false;
    default: return true;
    }
}

static void add_column(job *j, ts_column column)
{
    switch (column) {
    case TS_COLUMN_START:
    case TS_COLUMN_DURATION:
    case TS_COLUMN_NEST:
    case TS_COLUMN_LEAD:
    case TS_COLUMN_TAIL:
    case TS_COLUMN_TEXT:
    case TS_COLUMN_TRACK: return;
    case TS_COLUMN_QUEUED: add(j, "queued_ns", TIME, column, 'q'); return;
    case TS_COLUMN_SUBMITTED: add(j, "submitted_ns", TIME, column, 'q'); return;
    case TS_COLUMN_NAME:
        if (j->names == TS_COLUMN_NAME) return; // it is `name` already
        add(j, "name_id", NUMBER, column, 'I');
        return;
    case TS_COLUMN_VALUE:
        if (j->kind == TS_EVENT_MEMSET)
            add(j, "value", NUMBER, column, 'Q');
        else
            add(j, "value", VALUE, column, 'd');
        return;
    default:
        add(j, ts_column_name(column), NUMBER, column,
            is_short(column) ? 'I' : 'Q');
    }
}

static bool has_duration(ts_event_kind kind)
{
    return has(kind, TS_COLUMN_DURATION);
}

static void choose_targets(job *j)
{
    const uint8_t *const columns = ts_event_columns(j->kind);
    find_names(j);
    add(j, "start_ns", START, TS_COLUMN_START, 'q');
    if (has_duration(j->kind))
        add(j, "duration_ns", DURATION, TS_COLUMN_DURATION, 'q');
    if (j->dictionary) add(j, "name", NAME, j->names, 'i');
    add(j, "track", TRACK, TS_COLUMN_TRACK, 'I');
    for (size_t i = 0; columns && columns[i]; i++)
        add_column(j, (ts_column)columns[i]);
}

// Keeps the columns that a list names; None: all.
static bool keep_targets(job *j, PyObject *only)
{
    size_t count = 0;
    if (only == Py_None) return true;
    const Py_ssize_t wanted = PySequence_Size(only);
    if (wanted < 0) return false;
    for (size_t i = 0; i < j->target_count; i++) {
        PyObject *const name = PyUnicode_FromString(j->targets[i].name);
        const int in = name ? PySequence_Contains(only, name) : -1;
        Py_XDECREF(name);
        if (in < 0) return false;
        if (in) j->targets[count++] = j->targets[i];
    }
    j->target_count = count;
    if (count == (size_t)wanted) return true;
    PyErr_Format(PyExc_ValueError,
                 "events of kind %s do not have all of the columns %R",
                 ts_event_name(j->kind), only);
    return false;
}

/* ---- Chunks -------------------------------------------------------------- */

static bool is_asked_for(const job *j, const ts_chunk_info *info)
{
    return info->header.kind == TS_CHUNK_EVENTS &&
           info->header.event == j->kind &&
           !(j->ranged && (info->first_ns >= j->filter.to_ns ||
                           info->last_ns < j->filter.from_ns));
}

static bool place_chunks(job *j)
{
    ts_chunk_info info;
    j->chunk_count = ts_reader_chunk_count(j->reader);
    j->offsets = PyMem_Malloc((j->chunk_count + 1) * sizeof *j->offsets);
    j->kept = PyMem_Malloc((j->chunk_count + 1) * sizeof *j->kept);
    if (!j->offsets || !j->kept) return PyErr_NoMemory(), false;
    for (size_t i = 0; i < j->chunk_count; i++) {
        j->kept[i] = 0;
        j->offsets[i] = SIZE_MAX;
        if (!ts_reader_chunk(j->reader, i, &info) || !is_asked_for(j, &info))
            continue;
        j->offsets[i] = j->rows;
        j->rows += info.header.count;
    }
    return true;
}

static char code_format(const job *j)
{
    const Py_ssize_t count = PyList_Size(j->codes.texts);
    return count <= 127 ? 'b' : count <= 32767 ? 'h' : 'i';
}

static bool make_columns(job *j)
{
    for (size_t i = 0; i < j->target_count; i++) {
        target *const t = &j->targets[i];
        if (t->source == NAME) t->format = code_format(j);
        t->made = column_new((Py_ssize_t)j->rows, t->format);
        if (!t->made) return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------- */

static bool row_fits(const job *j, const ts_columns *c, uint32_t row)
{
    const int64_t start = c->start_ns[row];
    if (j->ranged) {
        const int64_t end = start + c->duration_ns[row];
        if (start >= j->filter.to_ns ||
            (end <= j->filter.from_ns && start < j->filter.from_ns))
            return false;
    }
    if (!j->filter.track_count) return true;
    const uint32_t track = c->tracks ? c->tracks[row] : c->track;
    for (size_t i = 0; i < j->filter.track_count; i++)
        if (j->filter.tracks[i] == track) return true;
    return false;
}

static double real_value(const ts_columns *c, uint32_t row)
{
    const uint64_t *const types = c->values[TS_COLUMN_TYPE];
    const uint64_t *const values = c->values[TS_COLUMN_VALUE];
    const uint64_t bits = values ? values[row] : 0;
    double real;
    if (types && types[row] == TS_VALUE_TEXT) return NAN;
    if (!types || types[row] != TS_VALUE_DOUBLE) return (double)(int64_t)bits;
    memcpy(&real, &bits, sizeof real);
    return real;
}

// Runs `put` with the row and the place of each row that is asked for.
#define ROWS(put) \
    do { \
        if (!rows) \
            for (uint32_t row = 0, at = 0; row < c->count; row++, at++) \
                put; \
        else \
            for (uint32_t at = 0; at < count; at++) { \
                const uint32_t row = rows[at]; \
                put; \
            } \
    } while (0)

static void put_names(const job *j, const target *t, const ts_columns *c,
                      const uint32_t *rows, uint32_t count, char *to)
{
    const uint64_t *const ids = j->names ? c->values[j->names] : NULL;
    const codes *const k = &j->codes;
#define CODE \
    codes_find(k, ids         ? (uint32_t)ids[row] \
                  : j->names  ? 0 \
                  : c->tracks ? c->tracks[row] \
                              : c->track)
    if (t->format == 'b')
        ROWS(((int8_t *)to)[at] = (int8_t)CODE);
    else if (t->format == 'h')
        ROWS(((int16_t *)to)[at] = (int16_t)CODE);
    else
        ROWS(((int32_t *)to)[at] = CODE);
#undef CODE
}

static void put_target(const job *j, const target *t, const ts_columns *c,
                       const uint32_t *rows, uint32_t count, char *to)
{
    const uint64_t *const values = c->values[t->column];
    int64_t *const longs = (int64_t *)to;
    uint32_t *const words = (uint32_t *)to;
    switch (t->source) {
    case START: ROWS(longs[at] = c->start_ns[row]); break;
    case DURATION: ROWS(longs[at] = c->duration_ns[row]); break;
    case TRACK: ROWS(words[at] = c->tracks ? c->tracks[row] : c->track); break;
    case NAME: put_names(j, t, c, rows, count, to); break;
    case TIME:
        if (values)
            ROWS(longs[at] = values[row] ? ts_reader_time_ns(
                                               j->reader, c->clock, values[row])
                                         : 0);
        break;
    case VALUE: ROWS(((double *)to)[at] = real_value(c, row)); break;
    case NUMBER:
        if (values && t->format == 'I')
            ROWS(words[at] = (uint32_t)values[row]);
        else if (values)
            ROWS(((uint64_t *)to)[at] = values[row]);
    }
}

// The rows of a chunk that are asked for; NULL: all of them, or no memory.
static uint32_t *choose_rows(const job *j, const ts_columns *c, uint32_t *count,
                             bool *failed)
{
    *count = c->count;
    if (!j->ranged && !j->filter.track_count) return NULL;
    uint32_t *const rows = malloc(((size_t)c->count + 1) * sizeof *rows);
    *failed = !rows;
    *count = 0;
    for (uint32_t i = 0; rows && i < c->count; i++)
        if (row_fits(j, c, i)) rows[(*count)++] = i;
    return rows;
}

static void take_chunk(const ts_columns *c, uint32_t thread, void *user)
{
    job *const j = user;
    uint32_t count;
    bool failed = false;
    (void)thread;
    if (c->chunk >= j->chunk_count || j->offsets[c->chunk] == SIZE_MAX) return;
    uint32_t *const rows = choose_rows(j, c, &count, &failed);
    for (size_t i = 0; !failed && i < j->target_count; i++) {
        const target *const t = &j->targets[i];
        const size_t at = j->offsets[c->chunk];
        put_target(j, t, c, rows, count,
                   (char *)t->made->data + at * (size_t)t->made->item);
    }
    j->kept[c->chunk] = failed ? 0 : count;
    free(rows);
}

// Closes the holes that rows which were not asked for, or are damaged, left.
static void close_holes(job *j)
{
    size_t to = 0;
    for (size_t i = 0; i < j->chunk_count; i++) {
        const size_t from = j->offsets[i];
        if (from == SIZE_MAX) continue;
        for (size_t n = 0; from != to && n < j->target_count; n++) {
            char *const data = j->targets[n].made->data;
            const size_t item = (size_t)j->targets[n].made->item;
            memmove(data + to * item, data + from * item, j->kept[i] * item);
        }
        to += j->kept[i];
    }
    j->rows = to;
    for (size_t n = 0; n < j->target_count; n++)
        column_cut(j->targets[n].made, (Py_ssize_t)to);
}

/* ---- Texts --------------------------------------------------------------- */

static bool append_texts(const job *j, ts_columns *c, PyObject *list)
{
    uint32_t count;
    bool failed = false, done = true;
    uint32_t *const rows = choose_rows(j, c, &count, &failed);
    for (uint32_t i = 0; !failed && done && i < count; i++) {
        const uint32_t row = rows ? rows[i] : i;
        const ts_text text =
            c->text_sizes ? (ts_text){ c->texts[row], c->text_sizes[row] }
                          : (ts_text){ "", 0 };
        PyObject *const made = native_text(text);
        done = made && PyList_Append(list, made) == 0;
        Py_XDECREF(made);
    }
    free(rows);
    if (failed) PyErr_NoMemory();
    return done && !failed;
}

// The texts of the rows, in their order.
static PyObject *texts_of(const job *j)
{
    PyObject *const list = PyList_New(0);
    ts_columns c = { 0 };
    bool done = list != NULL;
    for (size_t i = 0; done && i < j->chunk_count; i++)
        if (j->offsets[i] != SIZE_MAX && j->kept[i] &&
            ts_reader_decode(j->reader, i, &c) == TS_OK)
            done = append_texts(j, &c, list);
    ts_columns_close(j->reader, &c);
    if (done) return list;
    Py_XDECREF(list);
    return NULL;
}

/* ---- All of it ----------------------------------------------------------- */

static bool take_tracks(job *j, PyObject *tracks)
{
    if (tracks == Py_None) return true;
    const Py_ssize_t count = PySequence_Size(tracks);
    if (count < 0) return false;
    j->tracks = PyMem_Malloc(((size_t)count + 1) * sizeof *j->tracks);
    if (!j->tracks) return PyErr_NoMemory(), false;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *const item = PySequence_GetItem(tracks, i);
        j->tracks[i] = item ? (uint32_t)PyLong_AsUnsignedLong(item) : 0;
        Py_XDECREF(item);
        if (PyErr_Occurred()) return false;
    }
    j->filter.tracks = j->tracks;
    j->filter.track_count = (size_t)count;
    return true;
}

static ts_result scan(job *j)
{
    ts_result result;
    j->filter.kinds = UINT64_C(1) << j->kind;
    Py_BEGIN_ALLOW_THREADS result =
        ts_reader_scan(j->reader, &j->filter, 0, take_chunk, j);
    close_holes(j);
    Py_END_ALLOW_THREADS return result;
}

// (columns, categories of `name` or None); damage is not an error, as the
// reader lists it.
static PyObject *result_of(job *j, bool with_text)
{
    PyObject *const columns = PyDict_New();
    bool done = columns != NULL;
    for (size_t i = 0; done && i < j->target_count; i++)
        done = PyDict_SetItemString(columns, j->targets[i].name,
                                    (PyObject *)j->targets[i].made) == 0;
    if (done && with_text) done = native_set(columns, "text", texts_of(j));
    PyObject *const texts = j->codes.texts ? j->codes.texts : Py_None;
    PyObject *const result = done ? PyTuple_Pack(2, columns, texts) : NULL;
    Py_XDECREF(columns);
    return result;
}

static bool load(job *j, PyObject *tracks, PyObject *only)
{
    choose_targets(j);
    if (!keep_targets(j, only) || !take_tracks(j, tracks)) return false;
    if (j->dictionary && !codes_make(&j->codes, j->reader, j->dictionary))
        return false;
    if (ts_reader_index(j->reader) != TS_OK)
        return native_raise(TS_ERR_MEMORY, NULL, NULL), false;
    if (!place_chunks(j) || !make_columns(j)) return false;
    if (scan(j) != TS_ERR_MEMORY) return true;
    return PyErr_NoMemory(), false;
}

PyObject *columns_of(ts_reader *reader, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "kind",  "tracks",  "from_ns",
                             "to_ns", "columns", NULL };
    const char *kind;
    PyObject *tracks = Py_None, *from = Py_None, *to = Py_None, *only = Py_None;
    job j = { .reader = reader };
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|OOOO", names, &kind,
                                     &tracks, &from, &to, &only))
        return NULL;
    j.kind = (ts_event_kind)native_kind(kind);
    if (!j.kind) return NULL;
    j.ranged = from != Py_None || to != Py_None;
    if (j.ranged) {
        j.filter.from_ns =
            from == Py_None ? INT64_MIN : PyLong_AsLongLong(from);
        if (PyErr_Occurred()) return NULL;
        j.filter.to_ns = to == Py_None ? INT64_MAX : PyLong_AsLongLong(to);
        if (PyErr_Occurred()) return NULL;
    }
    const bool with_text = has(j.kind, TS_COLUMN_TEXT) && only == Py_None;
    PyObject *const result =
        load(&j, tracks, only) ? result_of(&j, with_text) : NULL;
    for (size_t i = 0; i < j.target_count; i++)
        Py_XDECREF((PyObject *)j.targets[i].made);
    codes_free(&j.codes);
    PyMem_Free(j.tracks);
    PyMem_Free(j.offsets);
    PyMem_Free(j.kept);
    return result;
}
