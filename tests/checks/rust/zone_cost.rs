//! zone_cost TRACE ROUNDS LIMIT: what a zone costs in Rust and in C, in
//! processor time of rounds that alternate, of which the least counts. It
//! fails if the ratio is above the limit.
//!
//! `zone_cost.c` is linked with it.

use std::mem::MaybeUninit;
use tracesmith::{zone, Drain, Kind, Reader, Session};

const TIMES: u64 = 20_000;

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn c_zones(times: u64);
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

const CLOCK_THREAD_CPUTIME_ID: i32 = 3;

fn cpu_ns() -> i64 {
    let mut time = MaybeUninit::<Timespec>::uninit();
    // SAFETY: the call fills the struct in.
    let time = unsafe {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

#[no_mangle]
#[inline(never)]
pub extern "C" fn rust_zones(times: u64) {
    for _ in 0..times {
        zone!("rust");
        // SAFETY: no instruction.
        unsafe { std::arch::asm!("", options(nostack, preserves_flags)) };
    }
}

fn least(work: impl Fn(), before: f64) -> f64 {
    let start = cpu_ns();
    work();
    before.min((cpu_ns() - start) as f64 / TIMES as f64)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("which trace?")?;
    let rounds: u32 = arguments.next().ok_or("how many rounds?")?.parse()?;
    let limit: f64 = arguments.next().ok_or("which limit?")?.parse()?;
    let mut options = Session::options();
    options.drain = Drain::Manual;
    let session = options.start(&path)?;
    let (mut rust, mut c) = (f64::MAX, f64::MAX);
    for _ in 0..rounds {
        // SAFETY: records zones, as any thread may.
        c = least(|| unsafe { c_zones(TIMES) }, c);
        rust = least(|| rust_zones(TIMES), rust);
        session.flush()?;
    }
    session.stop()?;
    println!("{c:.2} ns in C, {rust:.2} ns in Rust: {:.2}", rust / c);
    let zones = Reader::open(&path)?.count(Kind::Zone);
    assert_eq!(zones, 2 * TIMES * u64::from(rounds));
    assert!(rust <= limit * c, "more than {limit} times");
    Ok(())
}
