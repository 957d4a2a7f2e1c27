//! A closed loop at one URL, for a profiler: `valgrind --tool=callgrind hot_loop URL REQUESTS CONNECTIONS [STREAMS]`; with streams, over HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use dyno_client::{Protocol, Proxies, Reroute, tls};
use dyno_load::jsonl::Described;
use dyno_load::{Plan, Requests, Segment, Shape, Termination, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || {
        arguments
            .next()
            .ok_or("hot_loop URL REQUESTS CONNECTIONS [STREAMS]")
    };
    let (url, requests, connections) = (next()?, next()?.parse()?, next()?.parse()?);
    let streams = next().ok().map(|streams| streams.parse()).transpose()?;
    let protocol = match streams {
        Some(_) => Protocol::Http2,
        None => Protocol::Http1,
    };
    let shape = Shape {
        method: None,
        headers: Vec::new(),
        body: None,
        path_as_is: false,
        keepalive: true,
        protocol,
        proxies: Proxies::default(),
        checks: Arc::default(),
    };
    let described = Described {
        url,
        ..Described::default()
    };
    let plan = Plan {
        requests: Requests::new([described], &shape).map_err(|(_, error)| error)?,
        method: "GET".to_owned(),
        connections,
        streams: streams.unwrap_or(1),
        protocol,
        profile: dyno_client::http1::Profile::Tolerant,
        keepalive: true,
        reconnect_after: None,
        opened_per_s: None,
        segment: Segment::WHOLE,
        start_at: None,
        pace: None,
        replay: None,
        reports_stages: false,
        label_bounds_ns: None,
        ramp: Duration::ZERO,
        warm_up: Duration::ZERO,
        until: None,
        objective: None,
        termination: Termination {
            requests: Some(requests),
            duration_ns: None,
        },
        timeout: Duration::from_secs(60),
        cpus: Vec::new(),
        reroute: Reroute::default(),
        dns_refresh: None,
        sockets: Arc::default(),
        insecure: false,
        authorities: None,
        tls: tls::Settings::default(),
        samples: None,
        hdr_log: None,
    };
    let report = run(plan, &Arc::default(), None)?;
    println!("{} answers", report.requests);
    Ok(())
}
