"""The predecessor's module of this name: each use says what replaces it."""
from .predecessor import _Gone

XCTraceProfiler = _Gone("XCTraceProfiler")
XCTraceConfig = _Gone("XCTraceConfig")
profile_with_xctrace = _Gone("profile_with_xctrace")
