//! Declarations of TraceSmith's C API, written by hand.
//!
//! `tests/declarations.rs` compares each of them with the C headers: sizes,
//! offsets and types of members, values of constants, signatures. What the
//! functions do, and which threads may call them, is said in the headers.
//! Programs use the crate `tracesmith`.

#![allow(non_camel_case_types, non_upper_case_globals)]

mod read;
mod record;
#[cfg(feature = "tools")]
mod tools;

pub use read::*;
pub use record::*;
#[cfg(feature = "tools")]
pub use tools::*;
