use crate::sys;
use std::ffi::CStr;
use std::fmt;

macro_rules! numbers {
    ($(#[$meta:meta])* $name:ident, $text:ident;
        $($item:ident $code:ident,)*) => {
        $(#[$meta])*
        #[allow(missing_docs)] // the names are those of docs/sbt-format.md
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($item,)*
            /// One that this version does not know.
            Other(u32),
        }

        impl $name {
            /// Of its number in the format.
            pub fn from_code(code: u32) -> $name {
                match code {
                    $(sys::$code => $name::$item,)*
                    other => $name::Other(other),
                }
            }

            /// Its number in the format.
            pub fn code(self) -> u32 {
                match self {
                    $($name::$item => sys::$code,)*
                    $name::Other(code) => code,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                // SAFETY: a static text for every number.
                let name = unsafe { CStr::from_ptr(sys::$text(self.code())) };
                f.pad(&name.to_string_lossy())
            }
        }
    };
}

numbers! {
    /// What an event is.
    Kind, ts_event_name;
    Zone TS_EVENT_ZONE,
    ZoneOpen TS_EVENT_ZONE_OPEN,
    ZoneArg TS_EVENT_ZONE_ARG,
    Mark TS_EVENT_MARK,
    Message TS_EVENT_MESSAGE,
    Counter TS_EVENT_COUNTER,
    Frame TS_EVENT_FRAME,
    Alloc TS_EVENT_ALLOC,
    Free TS_EVENT_FREE,
    Flow TS_EVENT_FLOW,
    Span TS_EVENT_SPAN,
    ApiCall TS_EVENT_API_CALL,
    Dependency TS_EVENT_DEPENDENCY,
    Access TS_EVENT_ACCESS,
    Sample TS_EVENT_SAMPLE,
    Kernel TS_EVENT_KERNEL,
    Memcpy TS_EVENT_MEMCPY,
    Memset TS_EVENT_MEMSET,
    EventRecord TS_EVENT_EVENT_RECORD,
    EventWait TS_EVENT_EVENT_WAIT,
    StreamSync TS_EVENT_STREAM_SYNC,
    DeviceSync TS_EVENT_DEVICE_SYNC,
    EventSync TS_EVENT_EVENT_SYNC,
    HostFunction TS_EVENT_HOST_FUNCTION,
    GraphLaunch TS_EVENT_GRAPH_LAUNCH,
    Collective TS_EVENT_COLLECTIVE,
    GpuAlloc TS_EVENT_GPU_ALLOC,
    GpuFree TS_EVENT_GPU_FREE,
}

numbers! {
    /// A column of events.
    Column, ts_column_name;
    Start TS_COLUMN_START,
    Duration TS_COLUMN_DURATION,
    Site TS_COLUMN_SITE,
    Nest TS_COLUMN_NEST,
    Lead TS_COLUMN_LEAD,
    Tail TS_COLUMN_TAIL,
    Track TS_COLUMN_TRACK,
    Depth TS_COLUMN_DEPTH,
    Name TS_COLUMN_NAME,
    Type TS_COLUMN_TYPE,
    Value TS_COLUMN_VALUE,
    Text TS_COLUMN_TEXT,
    Address TS_COLUMN_ADDRESS,
    Size TS_COLUMN_SIZE,
    Pool TS_COLUMN_POOL,
    Category TS_COLUMN_CATEGORY,
    Stack TS_COLUMN_STACK,
    Id TS_COLUMN_ID,
    Phase TS_COLUMN_PHASE,
    Correlation TS_COLUMN_CORRELATION,
    Result TS_COLUMN_RESULT,
    Queued TS_COLUMN_QUEUED,
    Submitted TS_COLUMN_SUBMITTED,
    Thread TS_COLUMN_THREAD,
    Launch TS_COLUMN_LAUNCH,
    GraphNode TS_COLUMN_GRAPH_NODE,
    Graph TS_COLUMN_GRAPH,
    Source TS_COLUMN_SOURCE,
    Memory TS_COLUMN_MEMORY,
    Peer TS_COLUMN_PEER,
    Record TS_COLUMN_RECORD,
    Communicator TS_COLUMN_COMMUNICATOR,
    Sequence TS_COLUMN_SEQUENCE,
    Ranks TS_COLUMN_RANKS,
    Unit TS_COLUMN_UNIT,
}

/// What events lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TrackType {
    /// A process.
    Process,
    /// A thread of a process.
    Thread,
    /// A device, such as a GPU.
    Device,
    /// A context of a device.
    Context,
    /// A stream of a device.
    Stream,
    /// A counter.
    Counter,
    /// One that this version does not know.
    Other(u32),
}

impl TrackType {
    pub(crate) fn from_code(code: u32) -> TrackType {
        match code {
            sys::TS_TRACK_PROCESS => TrackType::Process,
            sys::TS_TRACK_THREAD => TrackType::Thread,
            sys::TS_TRACK_DEVICE => TrackType::Device,
            sys::TS_TRACK_CONTEXT => TrackType::Context,
            sys::TS_TRACK_STREAM => TrackType::Stream,
            sys::TS_TRACK_COUNTER => TrackType::Counter,
            other => TrackType::Other(other),
        }
    }
}
