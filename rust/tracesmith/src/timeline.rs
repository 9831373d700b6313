use crate::error::Error;
use crate::reader::{each, static_text, Reader};
use crate::sys;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

/// The figures of one device, or of all: see `ts_timeline_figures`.
pub type Figures = sys::ts_timeline_figures;

macro_rules! named {
    ($(#[$meta:meta])* $name:ident, $text:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Its name, as in the tools.
            pub fn name(self) -> &'static str {
                // SAFETY: a static text for every number.
                static_text(unsafe { sys::$text(self.0) })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
named! {
    /// Why a device is idle, such as "host_late"; indexes `cause_ns`.
    Idle, ts_idle_name
}
named! {
    /// The state of a stream, such as "running".
    State, ts_state_name
}
named! {
    /// A kind of work, such as "kernel"; indexes `work_ns`.
    Work, ts_work_name
}

/// An interval in which a device was idle.
#[derive(Clone, Copy, Debug)]
pub struct Gap {
    /// When it begins.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// Why it is there.
    pub cause: Idle,
    /// Some edge on the way to the culprit is inferred.
    pub inferred: bool,
    /// The operation that ended it.
    pub operation: u32,
    /// The node that this one waited for.
    pub culprit: Option<u32>,
}

/// An interval that a stream spends in one state.
#[derive(Clone, Copy, Debug)]
pub struct StateSpan {
    /// The state.
    pub state: State,
    /// When it begins.
    pub start_ns: i64,
    /// When it ends.
    pub end_ns: i64,
    /// The operation that runs, or the next one.
    pub operation: Option<u32>,
    /// What it waits for.
    pub culprit: Option<u32>,
}

fn node(number: u32) -> Option<u32> {
    (number != sys::TS_NODE_NONE).then_some(number)
}

/// What every stream and device did at which time, and why a device had
/// nothing to do.
pub struct Timeline<'r> {
    replay: *mut sys::ts_replay,
    timeline: *mut sys::ts_timeline,
    reader: &'r Reader,
}

// SAFETY: "any number of threads may read a timeline"; the replay is not run.
unsafe impl Send for Timeline<'_> {}
unsafe impl Sync for Timeline<'_> {}

impl Drop for Timeline<'_> {
    fn drop(&mut self) {
        // SAFETY: the timeline goes before the replay that it uses.
        unsafe {
            sys::ts_timeline_close(self.timeline);
            sys::ts_replay_close(self.replay);
        }
    }
}

impl<'r> Timeline<'r> {
    pub(crate) fn open(reader: &'r Reader) -> Result<Timeline<'r>, Error> {
        let mut it =
            Timeline { replay: null_mut(), timeline: null_mut(), reader };
        // SAFETY: NULL stands for the default desc.
        let result = unsafe {
            sys::ts_replay_open(&mut it.replay, reader.as_ptr(), null())
        };
        it.reader.check(result, "load GPU operations")?;
        // SAFETY: likewise.
        let result = unsafe {
            sys::ts_timeline_open(&mut it.timeline, it.replay, null())
        };
        it.reader.check(result, "compute a timeline")?;
        Ok(it)
    }

    /// The figures of all devices.
    pub fn total(&self) -> &Figures {
        // SAFETY: valid until close.
        unsafe { &*sys::ts_timeline_total(self.timeline) }
    }

    /// The figures of each device.
    pub fn devices(&self) -> impl Iterator<Item = &Figures> + '_ {
        // SAFETY: NULL past the end, else valid until close.
        (0..).map_while(move |device| unsafe {
            sys::ts_timeline_device(self.timeline, device).as_ref()
        })
    }

    /// When a device, by its place in [`Timeline::devices`], was idle.
    pub fn gaps(&self, device: usize) -> impl Iterator<Item = Gap> + '_ {
        // SAFETY: the timeline is open.
        each(move |index, gap| unsafe {
            sys::ts_timeline_gap(self.timeline, device, index, gap)
        })
        .map(|gap: sys::ts_gap| Gap {
            start_ns: gap.start_ns,
            end_ns: gap.end_ns,
            cause: Idle(gap.cause),
            inferred: gap.inferred,
            operation: gap.operation,
            culprit: node(gap.culprit),
        })
    }

    /// The tracks of the streams, in the order of [`Timeline::states`].
    pub fn streams(&self) -> impl Iterator<Item = u32> + '_ {
        // SAFETY: the replay is open.
        each(move |index, lane| unsafe {
            sys::ts_replay_lane(self.replay, index, lane)
        })
        .map(|lane: sys::ts_lane| lane.track)
    }

    /// The states of a stream, by its place in [`Timeline::streams`].
    pub fn states(&self, stream: usize) -> StateSpans<'_> {
        // SAFETY: the timeline is open.
        let raw =
            unsafe { sys::ts_timeline_state_spans(self.timeline, stream) };
        StateSpans { raw, _timeline: self }
    }
}

/// The states of a stream, in order of time.
pub struct StateSpans<'t> {
    raw: sys::ts_state_spans,
    _timeline: &'t Timeline<'t>,
}

impl Iterator for StateSpans<'_> {
    type Item = StateSpan;

    fn next(&mut self) -> Option<StateSpan> {
        let mut span = MaybeUninit::uninit();
        // SAFETY: true says that the span was written.
        let span = unsafe {
            sys::ts_state_spans_next(&mut self.raw, span.as_mut_ptr())
                .then(|| span.assume_init())?
        };
        Some(StateSpan {
            state: State(span.state),
            start_ns: span.start_ns,
            end_ns: span.end_ns,
            operation: node(span.operation),
            culprit: node(span.culprit),
        })
    }
}
