use crate::sys;
use std::borrow::Cow;
use std::fmt;
use std::os::raw::c_char;

/// A text of a trace. It may hold any bytes, as the file does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    /// # Safety
    /// `size` bytes at `text` must be valid and unchanged for `'a`.
    pub(crate) unsafe fn from_raw(text: *const c_char, size: usize) -> Self {
        if size == 0 {
            return Text(&[]);
        }
        Text(std::slice::from_raw_parts(text.cast(), size))
    }

    /// # Safety
    /// As `from_raw`.
    pub(crate) unsafe fn new(text: sys::ts_text) -> Text<'a> {
        Text::from_raw(text.text, text.size)
    }

    /// Its bytes, as they are.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// Its characters; bytes that are no UTF-8 become U+FFFD.
    pub fn to_str(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.0)
    }

    /// Whether it has no bytes.
    pub fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl PartialEq<&str> for Text<'_> {
    fn eq(&self, other: &&str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_str())
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.to_str(), f)
    }
}

/// Calls `call` with a text that ends with a zero. A text with a zero inside
/// is cut there. Short ones, as names are, need no memory.
pub(crate) fn with_c_text<R>(
    text: &str,
    call: impl FnOnce(*const c_char) -> R,
) -> R {
    const SHORT: usize = 256;
    if text.len() < SHORT {
        let mut bytes = [0u8; SHORT];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        return call(bytes.as_ptr().cast());
    }
    let mut bytes = Vec::with_capacity(text.len() + 1);
    bytes.extend_from_slice(text.as_bytes());
    bytes.push(0);
    call(bytes.as_ptr().cast())
}
