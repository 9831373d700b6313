//! Records what a CPU + GPU program does into one small file, and reads it.
//!
//! ```
//! use tracesmith::{counter, zone, Reader, Session};
//!
//! fn work(i: u32) {
//!     zone!("work");
//!     counter!("i", i);
//! }
//!
//! fn main() -> Result<(), tracesmith::Error> {
//! #   let path = std::env::temp_dir().join("tracesmith-doc-lib.sbt");
//! #   let path = path.to_str().unwrap();
//! #   const _: &str = stringify!(
//!     let path = "trace.sbt";
//! #   );
//!     let session = Session::start(path)?;
//!     (0..3).for_each(work);
//!     session.stop()?;
//!
//!     let trace = Reader::open(path)?;
//!     for event in trace.events() {
//!         let event = event?;
//!         println!("{} {} {}", event.start_ns, event.kind, event.label);
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Recording: [`Session`], [`zone!`], [`mark!`], [`counter!`], [`frame!`],
//! [`message`], [`alloc`], [`flow`], [`span_start!`]. While no session runs,
//! each of them is a load and a branch. Reading: [`Reader`], [`Columns`],
//! [`Events`], [`Timeline`]. `docs/rust.md` of the repository says more.

#![warn(missing_docs)]

mod columns;
mod cursor;
mod error;
mod events;
mod kinds;
mod reader;
mod session;
mod text;
mod timeline;
#[cfg(feature = "tools")]
pub mod tools;
mod zones;

pub use columns::{ChunkInfo, Columns};
pub use cursor::{Event, Events, Filter, Row};
pub use error::{Error, Place};
pub use events::{
    alloc, alloc_in, counter_define, flow, free, free_in, message, metadata,
    span_end, thread_name, zone_text, zone_value, Counter, Name, Number, Phase,
};
pub use kinds::{Column, Kind, TrackType};
pub use reader::{Damage, Info, Loss, Metadata, Reader, ReaderOptions, Track};
pub use reader::{Site as SourceSite, Value};
pub use session::{
    is_recording, stats, tick_now, Drain, Fork, Policy, Session,
    SessionOptions, Stats,
};
pub use text::Text;
pub use timeline::{
    Figures, Gap, Idle, State, StateSpan, StateSpans, Timeline, Work,
};
pub use zones::{FunctionSite, RuntimeSite, Site, Zone};

/// Compiles the blocks of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/rust.md")]
struct Guide;

/// The declarations of the C API.
pub use tracesmith_sys as sys;
