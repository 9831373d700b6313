"""What went wrong, where, and what to do about it."""
import os

# By the result of the C API; what a tool says itself comes first.
_TODO = {
    "TS_ERR_USAGE": "Correct the arguments of the call.",
    "TS_ERR_STATE": "One session records at a time: stop it before the next.",
    "TS_ERR_MEMORY": "Free memory, or look at a part: from_ns, to_ns.",
    "TS_ERR_IO": "Check that the path exists and may be read or written.",
    "TS_ERR_DISK_FULL": "Make room on the disk, or record to another one.",
    "TS_ERR_TRUNCATED": "Copy the trace again: a part of it is missing.",
    "TS_ERR_CORRUPT": "Copy the trace again; ts-info --verify lists damage.",
    "TS_ERR_NOT_SBT": "Turn it into a trace first: tracesmith.import_files.",
    "TS_ERR_VERSION": "Use the version of TraceSmith that wrote it.",
    "TS_ERR_UNSUPPORTED": "Install the library that is missing and build "
                          "tracesmith again.",
    "TS_ERR_NOT_FOUND": "Select something that the trace holds: "
                        "trace.tracks lists its tracks.",
    "TS_ERR_BUSY": "Wait until the recording process has ended.",
    "TS_ERR_NOT_FILE": "Name a file.",
    "TS_ERR_UNTRUSTED": "Make the sidecar beside the trace your own, or "
                        "open the trace with salvage=False.",
}


class Error(Exception):
    """A call of TraceSmith failed.

    what: what failed; where: the file, or ""; todo: what to do; result: the
    name of the C API's result, such as "TS_ERR_NOT_SBT".
    """

    def __init__(self, what, where="", todo="", result="TS_ERR_USAGE",
                 told=False):
        super().__init__(what, where, todo, result)
        self.what = what
        self.where = where
        self.todo = todo or ("" if told else _TODO.get(result, ""))
        self.result = result

    def __str__(self):
        text = self.what
        if self.where and self.where not in text:
            text = self.where + ": " + text
        if self.todo and self.todo not in text:
            text += ("" if text.endswith(".") else ".") + " " + self.todo
        return text


class TraceWarning(UserWarning):
    """Something a result rests on: records that were lost, damage of a file."""


def error_of(result, what, where):
    """Called by the extension. A text of a tool says what to do itself."""
    head, found, _ = what.partition(": ")
    if not where and found and os.path.exists(head):
        where = head
    return Error(what, where, "", result, told=bool(found))
