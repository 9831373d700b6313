use crate::sys;
use std::ffi::CStr;
use std::fmt;

/// Where a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What was done, such as "open".
    pub call: &'static str,
    /// The file, or an empty text.
    pub path: String,
}

macro_rules! errors {
    ($($(#[$meta:meta])* $name:ident $code:ident $todo:literal;)*) => {
        /// Why a call failed. Its text says what failed, where, and what can
        /// be done about it.
        #[derive(Clone, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Error {
            $($(#[$meta])* $name(Place),)*
            /// A result that a later version of the library has.
            Other(i32, Place),
        }

        impl Error {
            pub(crate) fn new(result: sys::ts_result, place: Place) -> Error {
                match result {
                    $(sys::$code => Error::$name(place),)*
                    other => Error::Other(other, place),
                }
            }

            /// Where it failed.
            pub fn place(&self) -> &Place {
                match self {
                    $(Error::$name(place) => place,)*
                    Error::Other(_, place) => place,
                }
            }

            /// The number of the C API's `ts_result`.
            pub fn code(&self) -> i32 {
                match self {
                    $(Error::$name(_) => sys::$code,)*
                    Error::Other(code, _) => *code,
                }
            }

            fn todo(&self) -> &'static str {
                match self {
                    $(Error::$name(_) => $todo,)*
                    Error::Other(..) => "see the C header of the library",
                }
            }
        }
    };
}

errors! {
    /// A call breaks the rules of its description.
    Usage TS_ERR_USAGE "see the documentation of the call and its options";
    /// Not possible in the current state.
    State TS_ERR_STATE "a process has one session: start it once, and stop it \
        once";
    /// Out of memory.
    Memory TS_ERR_MEMORY "free some, or read less at once";
    /// A file could not be read or written.
    Io TS_ERR_IO "see whether the path exists and may be accessed";
    /// No space left on the disk.
    DiskFull TS_ERR_DISK_FULL "make room, or choose another folder";
    /// The file ends inside a chunk.
    Truncated TS_ERR_TRUNCATED "copy the file again, or read what is left";
    /// A chunk breaks the rules of the format.
    Corrupt TS_ERR_CORRUPT "ts-info --verify lists what is damaged";
    /// Not an SBT file.
    NotSbt TS_ERR_NOT_SBT "ts-import converts traces of other tools";
    /// Written by an incompatible version.
    Version TS_ERR_VERSION "read it with the version that wrote it";
    /// Not supported by this build.
    Unsupported TS_ERR_UNSUPPORTED "build the library with what it needs, \
        such as libzstd-dev for compressed chunks";
    /// Not found in the trace.
    NotFound TS_ERR_NOT_FOUND "ts-info shows what the trace holds";
    /// The trace is still being written.
    Busy TS_ERR_BUSY "wait until its program ends, or choose another path";
    /// A folder, a device or a named pipe, not a file.
    NotFile TS_ERR_NOT_FILE "name a file";
    /// Other users can access the sidecar, or it belongs to another trace.
    Untrusted TS_ERR_UNTRUSTED "read it as the user that recorded it";
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: a static text that ends with a zero, for every number.
        let what = unsafe { CStr::from_ptr(sys::ts_result_text(self.code())) };
        let Place { call, path } = self.place();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{call}: {}; {}", what.to_string_lossy(), self.todo())
    }
}

/// The text, as a `main` that returns the error prints it like this.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// `Ok` for `TS_OK`, else an error of a call, about a file if there is one.
pub(crate) fn check(
    result: sys::ts_result,
    call: &'static str,
    path: &str,
) -> Result<(), Error> {
    if result == sys::TS_OK {
        return Ok(());
    }
    Err(Error::new(result, Place { call, path: path.to_string() }))
}
