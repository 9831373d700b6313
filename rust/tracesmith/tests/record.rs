mod common;

use common::{labels, path, record, turn};
use std::process::Command;
use tracesmith::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

#[test]
fn zones_nest_and_end_with_their_blocks() -> Tested {
    let trace = record("zones.sbt", || {
        zone!("outer", "rust", 0x3366cc);
        for _ in 0..3 {
            zone!("inner");
        }
        let early = Zone::begin(site!("early"));
        early.end();
        zone!("last");
    })?;
    assert_eq!(
        labels(&trace, Kind::Zone),
        ["outer", "inner", "inner", "inner", "early", "last"]
    );
    let mut zones = trace.events_of(&Filter::new().kind(Kind::Zone));
    let mut outer_end = 0;
    while let Some(zone) = zones.next_row() {
        let end = zone.start_ns() + zone.duration_ns();
        if zone.label() == "outer" {
            outer_end = end;
            let site = trace.site(zone.value(Column::Site) as u32).unwrap();
            assert_eq!(site.category, "rust");
            assert!(site.color == 0x3366cc && site.line > 0);
            assert!(site.file.to_str().ends_with("tests/record.rs"));
        }
        assert!(end <= outer_end, "{} ends after outer", zone.label());
    }
    zones.finish()?;
    Ok(())
}

#[test]
fn a_zone_ends_if_a_panic_leaves_it() -> Tested {
    let trace = record("panic.sbt", || {
        let left = std::panic::catch_unwind(|| {
            zone!("left");
            std::panic::resume_unwind(Box::new("out"));
        });
        assert!(left.is_err());
        zone!("after");
    })?;
    assert_eq!(labels(&trace, Kind::Zone), ["left", "after"]);
    Ok(())
}

fn named_after_me() {
    function!();
    let inner = || {
        function!();
    };
    inner();
}

#[test]
fn names_made_at_run_time_and_those_of_functions() -> Tested {
    let long = "x".repeat(1000);
    let trace = record("names.sbt", || {
        for i in 0..2 {
            zone_name!(format!("step {i}"));
        }
        zone_name!(&long);
        named_after_me();
        named_after_me();
    })?;
    let me = "record::named_after_me";
    assert_eq!(
        labels(&trace, Kind::Zone),
        ["step 0", "step 1", &long, me, me, me, me]
    );
    Ok(())
}

#[test]
fn places_made_at_run_time_and_zones_that_overlap() -> Tested {
    let trace = record("overlap.sbt", || {
        let site = RuntimeSite::define("outer", "made", "made.rs", 7);
        let outer = Zone::begin_at(site);
        let inner = Zone::begin(site!("inner"));
        outer.end_outer();
        zone!("in inner");
        inner.end();
    })?;
    let wanted = ["outer", "inner", "in inner"];
    assert_eq!(labels(&trace, Kind::Zone), wanted);
    let mut zones = trace.events_of(&Filter::new().kind(Kind::Zone));
    let number = zones.next_row().unwrap().value(Column::Site);
    let site = trace.site(number as u32).unwrap();
    assert!(site.category == "made" && site.file == "made.rs");
    assert_eq!(site.line, 7);
    Ok(())
}

#[test]
fn every_kind_of_event_is_read_back() -> Tested {
    let bytes = [0u8; 64];
    let trace = record("kinds.sbt", || {
        counter_define("queue", "jobs");
        metadata("answer", 42);
        metadata("language", "Rust");
        zone!("work");
        zone_value("rows", 7u64);
        zone_value("share", 0.5);
        zone_text("of the zone");
        mark!("mark");
        message("grüße \0 zero");
        counter!("queue", 3);
        counter!("queue", -1i64);
        counter!("queue", 1.5f32);
        counter!("queue", 1usize << 40);
        counter!("queue", u64::MAX);
        frame!("frame");
        frame!("frame");
        let pool = Name::new("pool");
        alloc_in(&bytes, 64, pool, Name::new("kind"));
        free_in(&bytes, pool);
        alloc(&bytes, 64);
        free(&bytes);
        free(std::ptr::null::<u8>());
        flow(9, Phase::Start);
        flow(9, Phase::Step);
        flow(9, Phase::End);
        span_start!(5, "span");
        span_end(5);
    })?;
    let counts = [
        (Kind::Zone, 1),
        (Kind::ZoneArg, 3),
        (Kind::Mark, 1),
        (Kind::Message, 1),
        (Kind::Counter, 5),
        (Kind::Frame, 2),
        (Kind::Alloc, 2),
        (Kind::Free, 2),
        (Kind::Flow, 3),
        (Kind::Span, 2),
    ];
    for (kind, count) in counts {
        assert_eq!(trace.count(kind), count, "{kind}");
    }
    assert_eq!(trace.info().counts.iter().sum::<u64>(), 22);
    assert_eq!(trace.losses().count(), 0);

    let mut rows = trace.events_of(&Filter::new().kind(Kind::Message));
    assert_eq!(rows.next_row().unwrap().text(), "grüße \0 zero");
    let queue = trace.tracks().find(|t| t.name == "queue").unwrap();
    assert_eq!(queue.track_type, TrackType::Counter);
    assert_eq!(queue.unit, "jobs");
    let fact =
        |key: &str| trace.metadata().find(|m| m.key == key).unwrap().value;
    assert_eq!(fact("answer"), Value::Int(42));
    assert_eq!(fact("language"), Value::from("Rust"));

    let mut values = Vec::new();
    let mut samples = trace.events_of(&Filter::new().kind(Kind::Counter));
    while let Some(sample) = samples.next_row() {
        let bits = sample.value(Column::Value);
        // 1: an integer, 2: a double
        values.push(match sample.value(Column::Type) {
            1 => bits as i64 as f64,
            _ => f64::from_bits(bits),
        });
    }
    let two_to_40 = (1u64 << 40) as f64;
    assert_eq!(values, [3.0, -1.0, 1.5, two_to_40, u64::MAX as f64]);
    Ok(())
}

#[test]
fn threads_have_tracks_and_names() -> Tested {
    let trace = record("threads.sbt", || {
        std::thread::scope(|scope| {
            for i in 0..4 {
                scope.spawn(move || {
                    thread_name(&format!("worker {i}"));
                    for _ in 0..1000 {
                        zone!("job");
                    }
                });
            }
        });
    })?;
    assert_eq!(trace.count(Kind::Zone), 4000);
    for i in 0..4 {
        let name = format!("worker {i}");
        let track = trace.tracks().find(|t| t.name == name.as_str()).unwrap();
        assert_eq!(track.track_type, TrackType::Thread);
        let filter = Filter::new().track(track.id);
        assert_eq!(trace.events_of(&filter).count(), 1000);
    }
    Ok(())
}

#[test]
fn sessions_start_once_stop_once_and_stop_when_dropped() -> Tested {
    let _turn = turn();
    assert!(!is_recording());
    zone!("of no session");
    let session = Session::start(path("dropped.sbt"))?;
    assert!(is_recording());
    let second = Session::start(path("second.sbt")).unwrap_err();
    assert!(matches!(second, Error::State(_)), "{second}");
    session.pause()?;
    mark!("paused");
    session.resume()?;
    mark!("recorded");
    session.flush()?;
    assert_eq!(stats().records, 1);
    drop(session);
    assert!(!is_recording());
    let trace = Reader::open(path("dropped.sbt"))?;
    assert!(trace.info().finished);
    assert_eq!(labels(&trace, Kind::Mark), ["recorded"]);
    Ok(())
}

#[test]
fn errors_say_what_where_and_what_to_do() -> Tested {
    let _turn = turn();
    let error = Session::start(path("no/such/folder.sbt")).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, Error::Io(_)), "{text}");
    assert!(text.contains("no/such/folder.sbt: start a session: "), "{text}");
    let error = Session::start("a\0b").unwrap_err();
    assert!(matches!(error, Error::Usage(_)), "{error}");

    std::fs::write(path("text.sbt"), "not a trace, but long enough".repeat(9))?;
    let error = Reader::open(path("text.sbt")).unwrap_err();
    assert!(matches!(error, Error::NotSbt(_)));
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().ends_with(
        "text.sbt: open a trace: not an SBT file; ts-import converts traces \
         of other tools"
    ));
    Ok(())
}

#[test]
fn the_tools_verify_what_was_recorded() -> Tested {
    let trace = record("verified.sbt", || {
        for i in 0..50_000 {
            zone!("many");
            counter!("i", i);
        }
    })?;
    assert_eq!(trace.count(Kind::Zone), 50_000);
    assert_eq!(trace.count(Kind::Counter), 50_000);
    trace.verify()?;
    let tool = concat!(env!("CARGO_MANIFEST_DIR"), "/../../build/ts-info");
    if !std::path::Path::new(tool).exists() {
        return Ok(()); // an installed library without its repository
    }
    let output = Command::new(tool)
        .args(["--verify", "--json"])
        .arg(path("verified.sbt"))
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{text}");
    assert!(text.contains("50000"), "{text}");
    Ok(())
}

#[test]
fn a_place_may_have_a_name_and_give_its_properties_to_others() -> Tested {
    let trace = record("places.sbt", || {
        for site in [site!("first"), site!("second")] {
            drop(Zone::named("made", site));
            drop(Zone::begin(site));
            drop(Zone::named("made later", site));
            site.mark();
        }
    })?;
    let once = ["made", "first", "made later", "made", "second", "made later"];
    assert_eq!(labels(&trace, Kind::Zone), once);
    assert_eq!(labels(&trace, Kind::Mark), ["first", "second"]);
    Ok(())
}
