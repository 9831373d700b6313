mod common;

use common::{path, record};
use tracesmith::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn zones(name: &str, count: i32) -> Result<Reader, Error> {
    record(name, || {
        for i in 0..count {
            zone!("zone");
            counter!("i", i);
        }
    })
}

#[test]
fn columns_and_events_agree() -> Tested {
    let trace = zones("columns.sbt", 30_000)?;
    let mut starts = Vec::new();
    let mut values = Vec::new();
    for chunk in trace.chunks() {
        let columns = trace.decode(chunk.index)?;
        assert_eq!(columns.len(), chunk.count as usize);
        assert_eq!(columns.kind(), chunk.kind);
        assert_eq!(columns.start_ns().len(), columns.len());
        match columns.kind() {
            Kind::Zone => starts.extend_from_slice(columns.start_ns()),
            Kind::Counter => {
                let of = columns.values(Column::Value).unwrap();
                values.extend(of.iter().map(|v| *v as i32));
            }
            _ => {}
        }
    }
    values.sort_unstable();
    assert!(values.into_iter().eq(0..30_000));
    let events: Result<Vec<_>, _> =
        trace.events_of(&Filter::new().kind(Kind::Zone)).collect();
    starts.sort_unstable();
    assert!(events?.iter().map(|e| e.start_ns).eq(starts));
    Ok(())
}

#[test]
fn some_columns_of_a_chunk() -> Tested {
    let trace = zones("some.sbt", 100)?;
    let chunk = trace.chunks().find(|c| c.kind == Kind::Zone).unwrap();
    let wanted = [Column::Duration, Column::Duration];
    let columns = Columns::decode_some(&trace, chunk.index, &wanted)?;
    assert_eq!(columns.duration_ns().len(), 100);
    assert!(columns.start_ns().is_empty());
    assert!(columns.values(Column::Site).is_none());
    assert!(columns.text(0).is_empty());
    let error = trace.decode(usize::MAX).err().unwrap();
    assert!(matches!(error, Error::Usage(_)), "{error}");
    Ok(())
}

#[test]
fn threads_share_a_reader() -> Tested {
    let trace = zones("shared.sbt", 10_000)?;
    let count = |trace: &Reader| {
        let chunks: Vec<_> = trace.chunks().collect();
        let decode = |c: &ChunkInfo| trace.decode(c.index).unwrap().len();
        chunks.iter().map(decode).sum::<usize>()
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(|| count(&trace))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), 20_000);
        }
    });
    let moved = std::thread::spawn(move || count(&trace)).join().unwrap();
    assert_eq!(moved, 20_000);
    Ok(())
}

#[test]
fn damage_is_listed_and_ends_the_events_with_an_error() -> Tested {
    let trace = zones("whole.sbt", 1000)?;
    let chunk = trace.chunks().find(|c| c.kind == Kind::Zone).unwrap();
    let mut bytes = std::fs::read(path("whole.sbt"))?;
    bytes[chunk.offset as usize + 90] ^= 1; // behind the chunk's header
    std::fs::write(path("damaged.sbt"), bytes)?;
    let trace = Reader::open(path("damaged.sbt"))?;
    let events: Vec<_> = trace.events().collect();
    let kept = events.iter().filter(|e| e.is_ok()).count();
    assert_eq!(kept, 2000 - chunk.count as usize);
    let error = events.last().unwrap().as_ref().unwrap_err();
    assert!(matches!(error, Error::Corrupt(_)), "{error}");
    let damage = trace.damages().next().unwrap();
    assert_eq!(damage.offset, chunk.offset);
    assert!(trace.verify().is_err());

    let whole = std::fs::read(path("whole.sbt"))?;
    std::fs::write(path("cut.sbt"), &whole[..whole.len() / 2])?;
    assert!(!Reader::open(path("cut.sbt"))?.info().finished);
    Ok(())
}

#[test]
fn a_growing_trace_is_refreshed() -> Tested {
    let _turn = common::turn();
    let session = Session::start(path("growing.sbt"))?;
    mark!("first");
    session.flush()?;
    let options = ReaderOptions { no_salvage: true, ..Default::default() };
    let mut trace = options.open(path("growing.sbt"))?;
    assert_eq!(trace.count(Kind::Mark), 1);
    mark!("second");
    session.flush()?;
    assert!(trace.refresh());
    assert_eq!(trace.count(Kind::Mark), 2);
    session.stop()?;
    Ok(())
}

#[test]
fn a_trace_without_devices_has_no_timeline() -> Tested {
    let trace = zones("host.sbt", 1)?;
    let error = trace.timeline().err().unwrap();
    assert!(matches!(error, Error::NotFound(_)), "{error}");
    Ok(())
}

/// `TRACESMITH_GPU_TRACE` is a trace of examples/pipeline.c; the check sets it.
#[test]
fn the_timeline_of_devices_adds_up() -> Tested {
    let trace = match std::env::var_os("TRACESMITH_GPU_TRACE") {
        Some(path) => Reader::open(path)?,
        None => return Ok(()),
    };
    let timeline = trace.timeline()?;
    let total = timeline.total();
    assert!(total.operations > 0);
    let devices: Vec<_> = timeline.devices().collect();
    assert_eq!(devices.len(), 2);
    for (at, device) in devices.iter().enumerate() {
        let span = device.end_ns - device.start_ns;
        assert_eq!(device.busy_ns + device.idle_ns, span);
        let mut by_cause = device.cause_ns.map(|_| 0);
        for gap in timeline.gaps(at) {
            by_cause[gap.cause.0 as usize] += gap.end_ns - gap.start_ns;
        }
        assert_eq!(by_cause, device.cause_ns);
        let track = trace.track(device.track).unwrap();
        assert_eq!(track.track_type, TrackType::Device);
    }
    let mut running = 0;
    for (at, track) in timeline.streams().enumerate() {
        assert!(trace.track(track).is_some());
        let states: Vec<_> = timeline.states(at).collect();
        let runs = |s: &&StateSpan| s.state.name() == "running";
        running += states.iter().filter(runs).count();
        let meets = |w: &[StateSpan]| w[0].end_ns == w[1].start_ns;
        assert!(states.windows(2).all(meets));
    }
    assert!(running > 0);
    Ok(())
}
