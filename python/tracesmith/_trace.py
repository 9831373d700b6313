"""Reading: traces, their events as columns, and what the tools say of them."""
import json
import os
import warnings
from collections import namedtuple

from . import _tracesmith as native
from ._errors import Error, TraceWarning

Track = namedtuple("Track", "id type name number parent unit flags")
Track.__doc__ = "What events lie on: a thread, a device, a stream, a counter."


# By number, each different, as categories must be.
_KINDS = [name if name != "unknown" else "unknown %d" % number
          for number, name in enumerate(native.event_kinds)]


def _tell(messages):
    for message in messages:
        warnings.warn(message, TraceWarning, stacklevel=4)


def _call(function, options):
    """Runs a function of a tool; its messages become warnings."""
    value, messages = function(options)
    _tell(messages)
    return value


def _module(name):
    """A module that is used where it is installed, or None."""
    try:
        return __import__(name)
    except ImportError:
        return None


def _pandas():
    pandas = _module("pandas")
    if pandas is None:
        raise Error("pandas is not installed", "",
                    "Install it, or use the columns as they are.",
                    "TS_ERR_UNSUPPORTED")
    return pandas

# ---- Columns ---------------------------------------------------------------


class Columns(dict):
    """Columns of equal length by name, each a buffer.

    numpy.asarray(columns["start_ns"]) and memoryview(columns["start_ns"]) copy
    nothing. Some columns hold codes of texts: `categories[name]` lists the
    texts; code -1 is none.
    """

    def __init__(self, columns, categories):
        super().__init__(columns)
        self.categories = categories

    @property
    def row_count(self):
        """How many rows there are."""
        for column in self.values():
            return len(column)
        return 0

    def texts(self, name):
        """A column of codes as a list of str; None where there is none."""
        texts = self.categories[name]
        return [texts[code] if code >= 0 else None for code in
                memoryview(self[name])]

    def rows(self):
        """Yields a dict for each row."""
        columns = [self.texts(name) if name in self.categories else column
                   for name, column in self.items()]
        for row in zip(*columns):
            yield dict(zip(self, row))

    def numpy(self):
        """The columns as arrays that share their memory; codes stay codes."""
        numpy = _module("numpy")
        if numpy is None:
            raise Error("numpy is not installed", "", "Install it, or use "
                        "memoryview(column).", "TS_ERR_UNSUPPORTED")
        return {name: column if isinstance(column, list)
                else numpy.asarray(column) for name, column in self.items()}

    def dataframe(self):
        """A DataFrame over the same memory; texts are categories."""
        pandas = _pandas()
        columns = self.numpy()
        for name, texts in self.categories.items():
            if name in columns:
                columns[name] = pandas.Categorical.from_codes(
                    columns[name], categories=pandas.Index(texts,
                                                           dtype=object))
        return pandas.DataFrame(columns, copy=False)


class Rows(list):
    """Rows of a query where pandas is not installed: tuples, and `columns`."""

    def __init__(self, columns, rows):
        super().__init__(rows)
        self.columns = list(columns)

    def column(self, name):
        """One column as a list."""
        at = self.columns.index(name)
        return [row[at] for row in self]

# ---- Reports ---------------------------------------------------------------


class Report(dict):
    """What a tool says as --json, as a dict, with its tables as DataFrames."""

    def tables(self):
        """The tables of the report: {name: DataFrame}."""
        pandas = _pandas()
        return {name: pandas.DataFrame(rows) for name, rows in
                _tables(self, "")}


def _tables(value, name):
    """The lists of dicts in a report, named by the keys that lead there."""
    if isinstance(value, dict):
        for key, inner in value.items():
            short = name if key in ("answers", "tables", "rows") else \
                name + "." + key if name else key
            for found in _tables(inner, short):
                yield found
    elif isinstance(value, list) and value \
            and all(isinstance(row, dict) for row in value):
        yield name, [{key: cell for key, cell in row.items()
                      if not isinstance(cell, (dict, list))} for row in value]


class Timeline(dict):
    """What devices did when: `total`, `devices`, `streams`, as dicts."""

    def gaps(self, device=0):
        """The idle times of a device, as a DataFrame."""
        return self["devices"][device]["gaps"].dataframe()

    def states(self, stream=0):
        """The states of a stream over time, as a DataFrame."""
        return self["streams"][stream]["states"].dataframe()

    def devices(self):
        """The figures of devices, as a DataFrame."""
        return _pandas().DataFrame([
            {key: value for key, value in device.items()
             if not isinstance(value, (dict, list))}
            for device in self["devices"]])

# ---- Traces ----------------------------------------------------------------


def _paths(traces):
    """Paths of traces that are open or named."""
    if isinstance(traces, (str, bytes, os.PathLike, Trace)):
        traces = [traces]
    return [trace.path if isinstance(trace, Trace) else os.fspath(trace)
            for trace in traces]


class Trace:
    """An open trace; a context manager. tracesmith.open(path) makes one."""

    def __init__(self, path, *, salvage=True):
        self._reader = native.Reader(path, salvage)
        self.path = os.fspath(path)

    def __repr__(self):
        return "tracesmith.open(%r)" % self.path

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.close()

    def close(self):
        """Closes the trace; columns and DataFrames stay."""
        self._reader.close()

    @property
    def info(self):
        """What the trace says of itself: counts of events, times, losses."""
        return self._reader.info()

    @property
    def tracks(self):
        """Its tracks, in order of their numbers."""
        return [Track(*row) for row in self._reader.tracks()]

    @property
    def metadata(self):
        """Facts about the session."""
        return {key: value for track, key, value in self._reader.metadata()
                if track == 0}

    @property
    def losses(self):
        """What was lost, by cause."""
        return self._reader.losses()

    @property
    def damage(self):
        """Parts of the file that cannot be read."""
        return self._reader.damage()

    def verify(self):
        """Checks every chunk; False: `damage` says what is wrong."""
        return self._reader.verify()

    @property
    def sites(self):
        """Places in the source that zones and marks name."""
        return self._reader.sites()

    @property
    def launches(self):
        """Kernels with their launch configurations."""
        return self._reader.launches()

    def events(self, kind, *, tracks=None, from_ns=None, to_ns=None,
               columns=None):
        """Events of a kind ("zone", "kernel", "counter", ...) as Columns.

        tracks: of these numbers only; from_ns, to_ns: what touches that time;
        columns: names of those that are wanted. Rows are in the order of the
        file, which is the order of time on each track.
        """
        made, names = self._reader.columns(kind, tracks, from_ns, to_ns,
                                           columns)
        self._warn()
        return Columns(made, {"name": names}
                       if names is not None and "name" in made else {})

    def dataframe(self, kind, **options):
        """The same as a pandas DataFrame, over the same memory."""
        return self.events(kind, **options).dataframe()

    def _warn(self):
        info = self.info
        if info["lost"]:
            _tell(["%s: %d records were lost when it was recorded; "
                   "trace.losses says why" % (self.path, info["lost"])])
        if info["damage"]:
            _tell(["%s: %d parts are damaged and left out; trace.damage lists "
                   "them" % (self.path, info["damage"])])

    def query(self, sql, *, settings=None, **selection):
        """Rows of a query: a DataFrame, or Rows without pandas.

        settings: values of :NAME in the query. docs/query.md has the tables.
        """
        return query([self], sql, settings=settings, **selection)

    def timeline(self, from_ns=0, to_ns=0):
        """What devices did when, and why they were idle."""
        made = Timeline(self._reader.timeline(from_ns, to_ns))
        causes = {"cause": native.idle_causes}
        states = {"state": native.stream_states}
        for device in made["devices"]:
            device["gaps"] = Columns(device["gaps"], causes)
        for stream in made["streams"]:
            stream["states"] = Columns(stream["states"], states)
        self._warn()
        return made

    def replay(self, what_if=()):
        """The operations of devices, run again in an emulation.

        Without changes every operation must run at its recorded nanosecond:
        `result` is "same". what_if: changes as ts-replay --what-if takes them,
        ["scale gemm=1/2"]; `what_ifs` then has the model without a change, each
        change alone, and all combined. `schedule` are Columns of the last run.
        """
        made = Report(self._reader.replay(
            [what_if] if isinstance(what_if, str) else list(what_if)))
        made["schedule"] = Columns(made["schedule"], {"kind": _KINDS})
        self._warn()
        return made

    def analyze(self, topics=None, *, format=None, **options):
        """What ts-analyze says: a Report, or with `format` "text" or "html".

        topics: "idle", "idle,kernels" (all). Options are those of
        ts_analysis_desc: top, rows, sort, collapse, settings, flops, and of a
        selection: step, zone, device, stream, rank, from_ns, to_ns.
        """
        return analyze([self], topics, format=format, **options)

    def diff(self, other, *, gates=None, format=None, **options):
        """How `other`, recorded after a change, differs from this trace."""
        return diff([self], [other], gates=gates, format=format, **options)

    def export(self, output=None, format=None, **options):
        """Writes the trace for another viewer: "perfetto", "chrome", "dot".

        output: a path, whose name tells the format; None: returns the bytes.
        Returns the counts of what was written otherwise.
        """
        made, counts = _call(native.export_file, dict(
            options, path=self.path, output=output, format=format))
        return made if output is None else counts

    def page(self, output=None, *, report=True):
        """Studio's page with the trace in it, one HTML file that asks nobody.

        output: a path; None: returns the page as str. report: with what
        ts-analyze says.
        """
        made = _call(native.page, dict(path=self.path, output=output,
                                       no_report=not report))
        return made.decode() if output is None else None

    def cut(self, output, **options):
        """Writes a part of the trace as a trace; returns what was kept."""
        return _call(native.cut, dict(options, path=self.path, output=output))


def open(path, *, salvage=True):
    """Opens a trace. What a dead process left beside it is moved into it,
    unless salvage is False."""
    return Trace(path, salvage=salvage)

# ---- Several traces --------------------------------------------------------


class View:
    """A trace as a cell of a notebook shows it: Studio's page in a frame."""

    def __init__(self, page, height):
        self.page = page
        self.height = height

    def _repr_html_(self):
        import html
        # Its own origin, so that the notebook and a trace of somebody else
        # cannot see each other.
        return ('<iframe sandbox="allow-scripts allow-downloads" '
                'style="border:0;width:100%%" height="%d" srcdoc="%s">'
                '</iframe>' % (self.height, html.escape(self.page)))


def view(trace, *, height=700, report=True):
    """Shows a trace, or the one at a path, in a notebook."""
    if not isinstance(trace, Trace):
        trace = Trace(trace)
    return View(trace.page(report=report), height)


def query(traces, sql, *, settings=None, **selection):
    """Rows of a query over several traces, one of each process."""
    texts = ["%s=%s" % pair for pair in (settings or {}).items()]
    columns = _call(native.query, dict(
        selection, paths=_paths(traces), sql=sql, settings=texts))
    pandas = _module("pandas")
    if pandas is None:
        return Rows([name for name, _ in columns],
                    zip(*[column for _, column in columns]))
    numpy = _module("numpy")
    return pandas.DataFrame(
        {name: pandas.Series(column, dtype=object)
         if isinstance(column, list) else numpy.asarray(column)
         for name, column in columns}, copy=False)


def _report(made, format):
    return Report(json.loads(made)) if format in (None, "json") \
        else made.decode()


def analyze(traces, topics=None, *, format=None, **options):
    """What ts-analyze says of the traces of one job."""
    if not isinstance(topics, (str, type(None))):
        topics = ",".join(topics)
    made = _call(native.analyze, dict(
        options, paths=_paths(traces), only=topics, format=format))
    return _report(made, format)


def diff(before, after, *, gates=None, format=None, **options):
    """What changed between two runs; `verdict` says if the gates passed."""
    made, verdict = _call(native.diff, dict(
        options, a=_paths(before), b=_paths(after), gates=gates,
        format=format))
    report = _report(made, format)
    if isinstance(report, Report):
        report.verdict = verdict
    return report


def merge(traces, output, **options):
    """Makes one trace of several, such as the ranks of a job."""
    return Report(json.loads(_call(native.merge, dict(
        options, paths=_paths(traces), output=output))))


def import_files(paths, output, **options):
    """Turns traces of other tools into traces: what was written."""
    return Report(json.loads(_call(native.import_files, dict(
        options, paths=_paths(paths), output=output))))


def topics():
    """The topics of analyze(), as text."""
    return _call(lambda unused: native.topics(), None).decode()
