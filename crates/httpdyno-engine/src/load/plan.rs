//! Translation of the command line to the plan of a load.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use dyno_client::http1::Profile;
use dyno_client::{Protocol, Reroute, tls};
use dyno_io::list;
use dyno_load::jsonl::{self, Described};
use dyno_load::{
    Arrivals, Data, PerSecond, Pick, Plan, Preparation, Rate, Requests, Segment, Server, Shape,
    Stages, Termination, Values,
};
use dyno_room::CpuSet;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};

use super::arguments::{Arguments, ArrivalsName, RateRange};
use super::body::{BodyFiles, body};
use super::prometheus;
use super::replay;
use crate::messages::system_message;

/// Length of a load without --duration and --requests.
const DURATION: Duration = Duration::from_secs(10);

/// Deadline of a load with --until, without --duration and --requests.
const DEADLINE: Duration = Duration::from_secs(300);

/// Shortest interval of lookups of names.
const SHORTEST_DNS_REFRESH: Duration = Duration::from_secs(1);

/// Number of characters of an invalid URL that a message repeats.
const LONGEST_URL: usize = 200;

/// Connections of a load without --connections.
pub(super) const CONNECTIONS: usize = 64;

/// First rate of a search without --find-from.
const FIRST_RATE: &str = "100";

/// Default seed of random arrivals.
const SEED: u64 = 1;

/// Creates the plan, or returns the conflict between options.
pub fn plan(arguments: &Arguments) -> Result<Plan> {
    check_options(arguments)?;
    let protocol = if arguments.http2() {
        Protocol::Http2
    } else {
        Protocol::Http1
    };
    let shape = Shape {
        method: arguments.method.clone(),
        headers: headers(arguments)?,
        body: body(arguments)?,
        path_as_is: arguments.path_as_is || arguments.replay.replay.is_some(),
        keepalive: arguments.keepalive(),
        protocol,
        proxies: arguments.servers.proxies().map_err(Error::msg)?,
        checks: arguments
            .checks
            .iter()
            .map(|one| one.check.clone())
            .collect(),
    };
    let method = match (&arguments.method, &shape.body) {
        (Some(method), _) => method.clone(),
        (None, Some(_)) => "POST".to_owned(),
        (None, None) => "GET".to_owned(),
    };
    if let Some(path) = &arguments.servers.cacert {
        // Checked even if no URL needs it, so that an invalid file is never ignored.
        tls::Client::new(
            tls::Trust::Authorities(Some(path)),
            &[],
            &tls::Settings::default(),
        )
        .with_context(|| format!("--cacert {}", path.display()))?;
    }
    let (requests, recorded) = match &arguments.replay.replay {
        None => (requests(arguments, &shape)?, None),
        Some(path) => {
            let replay = replay::read(path, arguments, &shape)?;
            let pace = (
                Rate::constant(replay.mean),
                Arrivals::Recorded(replay.times),
            );
            (replay.requests, Some((replay.recording, pace)))
        }
    };
    if arguments.connections_rate.is_some() && requests.servers().len() > 1 {
        bail!(
            "--connections-rate requires URLs of one server: connections to several are opened when requests need them"
        );
    }
    let reroute = arguments.servers.reroute();
    check_dns_refresh(arguments, &requests, &reroute)?;
    let recorded_requests = recorded.as_ref().map(|(recording, _)| recording.requests);
    let recorded_requests = recorded_requests.filter(|_| !arguments.replay.is_loop);
    let termination = termination(arguments, &requests, recorded_requests)?;
    check_requests(arguments.segment, &termination)?;
    if arguments.seed.is_some() && !is_random(arguments) && !requests.use_seed() {
        bail!(
            "--seed: nothing is random; add --arrivals poisson, --pick random, {{{{uuid}}}} or {{{{random 1 100}}}}, or remove it"
        );
    }
    let (replay, pace) = match recorded {
        Some((recording, pace)) => (Some(Arc::new(recording)), Some(pace)),
        None => (None, pace(arguments, &termination)?),
    };
    Ok(Plan {
        requests,
        method,
        connections: connections(arguments),
        streams: arguments.streams,
        protocol,
        profile: Profile::of(arguments.strict),
        keepalive: arguments.keepalive(),
        reconnect_after: arguments.reconnect_after,
        opened_per_s: arguments.connections_rate,
        segment: arguments.segment,
        start_at: None,
        pace,
        replay,
        reports_stages: arguments.stages.is_some(),
        label_bounds_ns: arguments
            .prometheus
            .as_ref()
            .map(|_| prometheus::bounds_ns()),
        ramp: arguments.ramp,
        warm_up: arguments.warm_up,
        until: arguments.until,
        objective: arguments.objective().cloned(),
        termination,
        timeout: arguments.timeout,
        cpus: cpus(arguments)?,
        reroute,
        dns_refresh: arguments.dns_refresh,
        sockets: arguments.servers.sockets().map_err(Error::msg)?.into(),
        insecure: arguments.servers.insecure,
        authorities: arguments.servers.cacert.clone(),
        tls: arguments.servers.tls().map_err(Error::msg)?,
        samples: arguments.samples.clone(),
        hdr_log: arguments.hdr_log.clone(),
    })
}

/// Refuses an interval of lookups that is too short, or where no name is looked up.
fn check_dns_refresh(arguments: &Arguments, requests: &Requests, reroute: &Reroute) -> Result<()> {
    let Some(every) = arguments.dns_refresh else {
        return Ok(());
    };
    if every < SHORTEST_DNS_REFRESH {
        bail!("--dns-refresh: must be at least 1s; write it like 10s");
    }
    let is_name = |server: &Server| {
        let places = reroute.places(&server.host, server.port);
        places.iter().any(|place| place.addresses.is_empty())
    };
    if !requests.servers().iter().any(is_name) {
        bail!(
            "--dns-refresh: no name is looked up, since all servers have given addresses; use a name without --resolve, or remove it"
        );
    }
    Ok(())
}

/// Refuses options that conflict, or that are impossible on this machine.
fn check_options(arguments: &Arguments) -> Result<()> {
    if arguments.urls.is_empty()
        && arguments.urls_file.is_none()
        && arguments.requests_file.is_none()
        && arguments.replay.replay.is_none()
    {
        bail!(
            "load: no URL given; write: httpdyno load http://localhost:8080/, or use --urls or --requests-file"
        );
    }
    if arguments.urls.iter().any(|url| url.trim().is_empty()) {
        bail!("load: the URL is empty; write: httpdyno load http://localhost:8080/");
    }
    if let Some(url) = arguments.urls.iter().find(|url| !url.contains("://")) {
        let url: String = url.chars().take(LONGEST_URL).collect();
        let path = if url.contains('/') { "" } else { "/" };
        bail!("load: '{url}' is not a URL; did you mean http://{url}{path}?");
    }
    for (option, path) in [
        ("--requests-file", &arguments.requests_file),
        ("--data", &arguments.data),
        ("--replay", &arguments.replay.replay),
        ("--cacert", &arguments.servers.cacert),
    ] {
        if let Some(path) = path.as_ref().filter(|path| *path != Path::new("-")) {
            check_readable(option, path)?;
        }
    }
    let http2 = arguments.http2();
    if arguments.strict && http2 {
        bail!("--strict: answers over HTTP/2 are always strict; remove it, or use HTTP/1.1");
    }
    if arguments.streams > 1 && !http2 {
        bail!(
            "--streams {}: only HTTP/2 has streams; add --http2",
            arguments.streams
        );
    }
    if http2 && !arguments.keepalive() {
        bail!(
            "--no-keepalive conflicts with HTTP/2, which reuses its connections; remove one of the two"
        );
    }
    if !arguments.ramp.is_zero() && arguments.rate.is_some() {
        bail!("--ramp conflicts with --rate, which schedules every request; remove one of the two");
    }
    if arguments.stages.is_some() && !arguments.ramp.is_zero() {
        bail!(
            "--ramp conflicts with --stages, which schedule every request; remove one of the two"
        );
    }
    if arguments.stages.is_some() && arguments.duration.is_some() {
        bail!(
            "--duration conflicts with --stages, whose times add up to the duration; remove one of the two"
        );
    }
    let changes =
        arguments.stages.is_some() || arguments.rate.is_some_and(|rate| rate.to.is_some());
    if arguments.until.is_some() && changes {
        bail!("--until requires one rate for the whole load; remove the stages or the ramp");
    }
    if arguments.until.is_some() && arguments.ramp > arguments.warm_up {
        bail!("--until requires the connections to be open; let --warm-up last as long as --ramp");
    }
    let begins_at_0 = |stages: &Stages| stages.rate().ends().0 == PerSecond::ZERO;
    if !arguments.warm_up.is_zero() && arguments.stages.as_ref().is_some_and(begins_at_0) {
        bail!(
            "--warm-up keeps the rate at which the stages begin, which is 0 here; let them begin with a rate above 0"
        );
    }
    if arguments.timeout.is_zero() {
        bail!("--timeout 0: must be above 0; write it like 5s");
    }
    check_search(arguments)?;
    check_segment(arguments)?;
    check_open_files(arguments.connections.unwrap_or(CONNECTIONS))
}

/// Refuses what one of several generators cannot do.
fn check_segment(arguments: &Arguments) -> Result<()> {
    let segment = arguments.segment;
    if arguments.start.clock.is_some() && segment.count() == 1 {
        bail!(
            "--clock: compares the clock for a start together with other generators; add --segment i/N and --start-at TIME"
        );
    }
    let several = match (arguments.repeat > 1, arguments.find.is_some()) {
        (true, _) => Some("--repeat"),
        (false, true) => Some("--find"),
        (false, false) => None,
    };
    if let Some(option) = several {
        let reason = "whose loads start one after the other; remove one of the two";
        if arguments.start.start_at.is_some() {
            bail!("--start-at conflicts with {option}, {reason}");
        }
        if segment.count() > 1 {
            bail!("--segment conflicts with {option}, {reason}");
        }
    }
    if segment.count() == 1 {
        return Ok(());
    }
    if arguments.start.start_at.is_none() && !arguments.dry_run {
        bail!(
            "--segment {segment}: all generators start at one moment; add --start-at TIME, the same for each"
        );
    }
    if arguments.until.is_some() {
        bail!(
            "--segment conflicts with --until: each generator would end at another moment; use --duration"
        );
    }
    let connections = arguments.connections.unwrap_or(CONNECTIONS);
    if (connections as u64) < segment.count() {
        bail!(
            "--connections {connections}: is the number of all generators together; with --segment {segment} it must be at least {}",
            segment.count()
        );
    }
    Ok(())
}

/// Refuses more generators than requests.
fn check_requests(segment: Segment, termination: &Termination) -> Result<()> {
    match termination.requests {
        Some(most) if most < segment.count() => {
            bail!("--segment {segment}: the load has {most} requests only; start fewer generators")
        }
        _ => Ok(()),
    }
}

/// Connections of this generator.
fn connections(arguments: &Arguments) -> usize {
    let all = arguments.connections.unwrap_or(CONNECTIONS);
    arguments.segment.share_of_connections(all)
}

/// Refuses what a search sets itself.
fn check_search(arguments: &Arguments) -> Result<()> {
    if arguments.find.is_none() {
        for (option, is_given) in [
            ("--find-for", arguments.find_for.is_some()),
            ("--find-from", arguments.find_from.is_some()),
        ] {
            if is_given {
                bail!("{option}: requires --find; add an objective, such as --find 'p99 < 50ms'");
            }
        }
        return Ok(());
    }
    for (option, is_given, what) in [
        ("--rate", arguments.rate.is_some(), "the rates"),
        ("--stages", arguments.stages.is_some(), "the rates"),
        (
            "--duration",
            arguments.duration.is_some(),
            "the times; --find-for limits them",
        ),
        (
            "--requests",
            arguments.requests.is_some(),
            "the times; --find-for limits them",
        ),
        (
            "--until",
            arguments.until.is_some(),
            "the times; --find-for limits them",
        ),
        ("--warm-up", !arguments.warm_up.is_zero(), "its warm-ups"),
        ("--ramp", !arguments.ramp.is_zero(), "the rates"),
    ] {
        if is_given {
            bail!("{option}: conflicts with --find, which chooses {what}; remove one of the two");
        }
    }
    for (option, is_given) in [
        ("--repeat", arguments.repeat > 1),
        ("--samples", arguments.samples.is_some()),
        ("--hdr-log", arguments.hdr_log.is_some()),
    ] {
        if is_given {
            bail!("{option}: conflicts with --find, which runs many steps; remove one of the two");
        }
    }
    if arguments.pick.map(Pick::from) == Some(Pick::Unique) {
        bail!(
            "--pick unique conflicts with --find, whose steps begin with the first row again; remove one of the two"
        );
    }
    if arguments.find_from == Some(PerSecond::ZERO) {
        bail!("--find-from 0: must be above 0; write it like 100");
    }
    if arguments.find_for.is_some_and(|time| time.as_secs() < 10) {
        bail!("--find-for: a search needs 10s or more; write it like 60s");
    }
    Ok(())
}

/// Refuses a file that cannot be opened.
fn check_readable(option: &str, path: &Path) -> Result<()> {
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::NONBLOCK, Mode::empty());
    opened.map(drop).map_err(|error| {
        let reason = system_message(&error.into());
        anyhow!(
            "{option} {}: cannot be read: {reason}; name another file",
            path.display()
        )
    })
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The headers of all requests.
fn headers(arguments: &Arguments) -> Result<Vec<(String, String)>> {
    let mut headers = arguments.headers.clone();
    let has = |name: &str| {
        let mut names = arguments.headers.iter().map(|(name, _)| name);
        names.any(|own| own.eq_ignore_ascii_case(name))
    };
    if !arguments.multipart.is_empty() && has("content-type") {
        bail!(
            "--header Content-Type: --multipart sets it, with the boundary of its parts; remove the header"
        );
    }
    if arguments.expect_continue && !has("expect") {
        headers.push(("Expect".to_owned(), "100-continue".to_owned()));
    }
    Ok(headers)
}

/// Refuses more connections than this process may ever open.
fn check_open_files(connections: usize) -> Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    let most = most.and_then(|most| usize::try_from(most).ok());
    if let Some(most) = most.filter(|most| connections > *most) {
        bail!(
            "--connections {connections}: a process may have at most {most} open files here; raise that limit (ulimit -Hn), or lower the number"
        );
    }
    Ok(())
}

fn termination(
    arguments: &Arguments,
    requests: &Requests,
    recorded: Option<u64>,
) -> Result<Termination> {
    if arguments
        .duration
        .is_some_and(|duration| duration.is_zero())
    {
        bail!("--duration 0: must be above 0; write it like 10s");
    }
    let values = requests.values();
    let rows = values.rows_to_use_once();
    let limits = arguments.requests.into_iter().chain(rows);
    let most = limits.chain(recorded).min();
    let duration_ns = match (&arguments.stages, arguments.duration, most) {
        (Some(stages), _, _) => Some(stages.duration_ns()),
        (None, None, None) if arguments.until.is_some() => Some(nanos(DEADLINE)),
        (None, None, None) => Some(nanos(DURATION)),
        (None, duration, _) => duration.map(nanos),
    };
    Ok(Termination {
        requests: most,
        duration_ns,
    })
}

fn pace(arguments: &Arguments, termination: &Termination) -> Result<Option<(Rate, Arrivals)>> {
    let rate = match (arguments.rate, &arguments.stages) {
        (None, None) if arguments.find.is_some() => {
            let first = arguments
                .find_from
                .map_or_else(|| PerSecond::parse(FIRST_RATE), Ok);
            Rate::constant(first.map_err(Error::msg)?)
        }
        (None, None) if arguments.arrivals.is_some() => {
            bail!("--arrivals requires --rate or --stages")
        }
        (None, None) => return Ok(None),
        (None, Some(stages)) => stages.rate(),
        (Some(RateRange { from, to: None }), _) => Rate::constant(from),
        (Some(RateRange { from, to: Some(to) }), _) => match termination.duration_ns {
            Some(over_ns) if over_ns > 0 => Rate::ramp(from, to, over_ns),
            _ => bail!("--rate with .. is a ramp over the whole load; add --duration"),
        },
    };
    let arrivals = if is_random(arguments) {
        Arrivals::Poisson {
            seed: arguments.seed.unwrap_or(SEED),
        }
    } else {
        Arrivals::Constant
    };
    Ok(Some((rate, arrivals)))
}

/// Whether arrivals are at random: the load of many users, which a search needs.
fn is_random(arguments: &Arguments) -> bool {
    match arguments.arrivals {
        Some(law) => law == ArrivalsName::Poisson,
        None => arguments.find.is_some(),
    }
}

fn cpus(arguments: &Arguments) -> Result<Vec<usize>> {
    let Some(cpus) = &arguments.cpus else {
        return Ok(Vec::new());
    };
    cpus.check_within(&CpuSet::allowed()?, "load")?;
    Ok(cpus.iter().collect())
}

fn requests(arguments: &Arguments, shape: &Shape) -> Result<Requests> {
    let mut all = Preparation::new(shape).with_values(Values {
        data: data(arguments)?.map(Arc::new),
        pick: arguments.pick.map(Pick::from).unwrap_or_default(),
        seed: arguments.seed.unwrap_or(SEED),
    });
    for url in &arguments.urls {
        all.add(request_for(url))?;
    }
    if let Some(path) = &arguments.urls_file {
        let name = || format!("--urls {}", path.display());
        for (number, line) in (1..).zip(reader(path).with_context(name)?.split(b'\n')) {
            let line = line.with_context(name)?;
            if let Some(entry) = list::entry(&line, number) {
                let added = all.add(request_for(String::from_utf8_lossy(entry).trim()));
                added.map_err(|error| anyhow!("{}: line {number}: {error}", name()))?;
            }
        }
    }
    if let Some(path) = &arguments.requests_file {
        let name = || format!("--requests-file {}", path.display());
        let mut files = BodyFiles::default();
        for line in jsonl::lines(reader(path).with_context(name)?) {
            let (number, mut described) = line.with_context(name)?;
            let body = files.body(described.body_file.take());
            let added = body.and_then(|body| match body {
                Some(body) => Ok(all.add_with_body(described, Some(body))?),
                None => Ok(all.add(described)?),
            });
            added.map_err(|error| anyhow!("{}: line {number}: {error}", name()))?;
        }
    }
    let requests = all.finish().map_err(|_| {
        anyhow!(
            "{}: no requests in the file; write a line for each request",
            files(arguments)
        )
    })?;
    if let (Some(path), Some(data)) = (&arguments.data, &requests.values().data)
        && !requests.use_data()
    {
        let column = data.columns().first().map_or("", String::as_str);
        bail!(
            "--data {}: no placeholder uses it; write {{{{{column}}}}} in a URL, a header or a body, or remove it",
            path.display()
        );
    }
    Ok(requests)
}

fn data(arguments: &Arguments) -> Result<Option<Data>> {
    let Some(path) = &arguments.data else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let data = Data::read(
        &name,
        reader(path).with_context(|| format!("--data {name}"))?,
    );
    data.map(Some)
        .map_err(|reason| anyhow!("--data {name}: {reason}"))
}

fn request_for(url: &str) -> Described {
    Described {
        url: url.to_owned(),
        ..Described::default()
    }
}

/// The file options as typed.
fn files(arguments: &Arguments) -> String {
    let named = [
        ("--urls", &arguments.urls_file),
        ("--requests-file", &arguments.requests_file),
    ];
    let typed = named
        .into_iter()
        .filter_map(|(option, path)| Some(format!("{option} {}", path.as_ref()?.display())));
    typed.collect::<Vec<_>>().join(", ")
}

fn reader(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}
