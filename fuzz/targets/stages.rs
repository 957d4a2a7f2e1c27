//! Texts of stages: parsed, or refused in one line; what is written parses as the same stages, whose schedule never goes back.
#![no_main]

use dyno_load::{ArrivalProcess, Arrivals, Stages};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Stages::parse(text) {
        Ok(stages) => {
            let written = stages.to_string();
            assert_eq!(Stages::parse(&written).as_ref(), Ok(&stages), "{written}");
            let total_ns: u64 = stages.all().iter().map(|stage| stage.over_ns).sum();
            assert_eq!(total_ns, stages.duration_ns());
            let process = ArrivalProcess::new(stages.rate(), Arrivals::Constant);
            let times: Vec<u64> = process.take(100).collect();
            assert!(times.is_sorted(), "{written}: {times:?}");
        }
        Err(error) => assert!(!error.contains('\n'), "{error}"),
    }
});
