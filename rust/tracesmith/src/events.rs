use crate::session::is_recording;
use crate::sys;
use crate::text::with_c_text;
use std::cell::UnsafeCell;
use std::os::raw::c_void;

/// A number that counters, values of zones and metadata take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A signed one.
    Int(i64),
    /// An unsigned one; beyond `i64::MAX` it is stored as a float.
    Uint(u64),
    /// A floating point one.
    Float(f64),
}

macro_rules! number_from {
    ($($kind:ident $as:ty: $($from:ty)+;)*) => { $($(
        impl From<$from> for Number {
            #[inline(always)]
            fn from(value: $from) -> Number {
                Number::$kind(value as $as)
            }
        }
    )+)* };
}
number_from! {
    Int i64: bool i8 i16 i32 i64 isize u8 u16 u32;
    Uint u64: u64 usize;
    Float f64: f32 f64;
}

/// A counter, in a `static`. [`counter!`](crate::counter!) makes one.
#[repr(transparent)]
pub struct Counter(UnsafeCell<sys::ts_counter>);

// SAFETY: the name is static, and only the library changes the rest,
// atomically.
unsafe impl Sync for Counter {}

impl Counter {
    /// A counter; `name` must end with `\0`.
    pub const fn new(name: &'static str) -> Counter {
        let bytes = name.as_bytes();
        assert!(!bytes.is_empty() && bytes[bytes.len() - 1] == 0);
        let name = bytes.as_ptr().cast();
        Counter(UnsafeCell::new(sys::ts_counter { name, code: 0 }))
    }

    /// Records a sample.
    #[inline(always)]
    pub fn sample(&'static self, value: impl Into<Number>) {
        if !is_recording() {
            return;
        }
        let counter = self.0.get();
        // SAFETY: a static counter.
        unsafe {
            match value.into() {
                Number::Int(value) => sys::ts_rs_counter_int(counter, value),
                Number::Uint(value) => match i64::try_from(value) {
                    Ok(value) => sys::ts_rs_counter_int(counter, value),
                    Err(_) => sys::ts_counter_uint(counter, value),
                },
                Number::Float(value) => sys::ts_counter_double(counter, value),
            }
        }
    }
}

/// A sample of a counter of the process: `counter!("name", number)`.
#[macro_export]
macro_rules! counter {
    ($name:literal, $value:expr) => {{
        static COUNTER: $crate::Counter =
            $crate::Counter::new(::core::concat!($name, "\0"));
        COUNTER.sample($value)
    }};
}

/// Gives a counter its unit, such as "bytes" or "%". Returns the counter's
/// track, 0 on failure.
pub fn counter_define(name: &str, unit: &str) -> u32 {
    with_c_text(name, |name| {
        // SAFETY: both are copied.
        with_c_text(unit, |unit| unsafe {
            sys::ts_counter_define(name, unit, 0)
        })
    })
}

/// A text with a number in the trace: names of pools and categories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Name(u32);

impl Name {
    /// No name.
    pub const NONE: Name = Name(0);

    /// Looks a text up, or adds it. It is valid in every session.
    pub fn new(text: &str) -> Name {
        // SAFETY: the bytes are copied.
        Name(unsafe {
            sys::ts_name_define_sized(text.as_ptr().cast(), text.len())
        })
    }
}

/// Records a text on this thread, of which at most 8,000 bytes are kept.
pub fn message(text: &str) {
    // SAFETY: the bytes are copied.
    unsafe { sys::ts_message_sized(text.as_ptr().cast(), text.len()) }
}

/// Memory was allocated at an address, which is not accessed.
#[inline]
pub fn alloc<T: ?Sized>(address: *const T, size: usize) {
    alloc_in(address, size, Name::NONE, Name::NONE)
}

/// As [`alloc`], of a pool and a category.
#[inline]
pub fn alloc_in<T: ?Sized>(
    address: *const T,
    size: usize,
    pool: Name,
    category: Name,
) {
    if is_recording() {
        let address = address.cast::<c_void>();
        // SAFETY: the address is a number to the call.
        unsafe { sys::ts_rs_alloc(address, size as u64, pool.0, category.0) }
    }
}

/// Memory was freed; null is ignored.
#[inline]
pub fn free<T: ?Sized>(address: *const T) {
    free_in(address, Name::NONE)
}

/// As [`free`], of a pool.
#[inline]
pub fn free_in<T: ?Sized>(address: *const T, pool: Name) {
    if is_recording() {
        // SAFETY: the address is a number to the call.
        unsafe { sys::ts_rs_free(address.cast::<c_void>(), pool.0) }
    }
}

/// Where on an arrow a [`flow`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It starts in the zone around the call.
    Start,
    /// It goes through it.
    Step,
    /// It ends in it.
    End,
}

/// An end or a step of an arrow between zones; those of equal ids are
/// connected in order of time.
pub fn flow(id: u64, phase: Phase) {
    let phase = match phase {
        Phase::Start => sys::TS_PHASE_START,
        Phase::Step => sys::TS_PHASE_STEP,
        Phase::End => sys::TS_PHASE_END,
    };
    // SAFETY: no precondition.
    unsafe { sys::ts_flow(id, phase) }
}

/// Ends the span with this id, on any thread.
pub fn span_end(id: u64) {
    // SAFETY: no precondition.
    unsafe { sys::ts_span_end(id) }
}

/// Names the calling thread from now on.
pub fn thread_name(name: &str) {
    // SAFETY: the name is copied.
    with_c_text(name, |name| unsafe { sys::ts_thread_name(name) })
}

/// Attaches a named number to the innermost open zone.
pub fn zone_value(name: &str, value: impl Into<Number>) {
    if !is_recording() {
        return;
    }
    // SAFETY: the name is copied.
    with_c_text(name, |name| unsafe {
        match integer(value.into()) {
            Ok(value) => sys::ts_zone_value_int(name, value),
            Err(value) => sys::ts_zone_value_double(name, value),
        }
    })
}

/// Attaches a text to the innermost open zone, of which 8,000 bytes are kept.
pub fn zone_text(text: &str) {
    if is_recording() {
        // SAFETY: the text is copied.
        with_c_text(text, |text| unsafe { sys::ts_zone_text(text) })
    }
}

/// States a fact about the session that runs, or else about the next one.
pub fn metadata<'a>(key: &str, value: impl Into<crate::Value<'a>>) {
    // SAFETY: key and text are copied.
    with_c_text(key, |key| unsafe {
        match value.into() {
            crate::Value::Int(value) => sys::ts_metadata_int(0, key, value),
            crate::Value::Float(value) => {
                sys::ts_metadata_double(0, key, value)
            }
            crate::Value::Text(text) => with_c_text(&text.to_str(), |text| {
                sys::ts_metadata_text(0, key, text)
            }),
        }
    })
}

/// An integer, or what does not fit one.
fn integer(number: Number) -> Result<i64, f64> {
    match number {
        Number::Int(value) => Ok(value),
        Number::Uint(value) => i64::try_from(value).map_err(|_| value as f64),
        Number::Float(value) => Err(value),
    }
}
