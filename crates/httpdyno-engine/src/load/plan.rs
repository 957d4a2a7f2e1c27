//! Translation of the command line to the plan of a load.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use dyno_client::{Protocol, tls};
use dyno_io::list;
use dyno_load::jsonl::{self, Described};
use dyno_load::{Arrivals, Plan, Preparation, Rate, Requests, Shape, Termination};
use dyno_room::CpuSet;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};

use super::arguments::{Arguments, ArrivalsName, RateRange};
use crate::messages::system_message;

/// Length of a load without --duration and --requests.
const DURATION: Duration = Duration::from_secs(10);

/// Characters of a wrong URL that a message repeats.
const LONGEST_URL: usize = 200;

/// Default seed of random arrivals.
const SEED: u64 = 1;

/// Makes the plan, or returns the conflict of the options.
pub fn plan(arguments: &Arguments) -> Result<Plan> {
    check_options(arguments)?;
    let protocol = if arguments.http2() {
        Protocol::Http2
    } else {
        Protocol::Http1
    };
    let shape = Shape {
        method: arguments.method.clone(),
        headers: arguments.headers.clone(),
        body: body(arguments)?.map(Into::into),
        keepalive: arguments.keepalive(),
        protocol,
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
        // Checked even when no URL needs it, so that a wrong file is never ignored.
        tls::Client::new(tls::Trust::Authorities(Some(path)), &[])
            .with_context(|| format!("--cacert {}", path.display()))?;
    }
    let termination = termination(arguments)?;
    Ok(Plan {
        requests: requests(arguments, &shape)?,
        method,
        connections: arguments.connections,
        streams: arguments.streams,
        protocol,
        keepalive: arguments.keepalive(),
        pace: pace(arguments, &termination)?,
        ramp: arguments.ramp,
        termination,
        timeout: arguments.timeout,
        cpus: cpus(arguments)?,
        reroute: arguments.servers.reroute(),
        insecure: arguments.servers.insecure,
        authorities: arguments.servers.cacert.clone(),
        samples: arguments.samples.clone(),
        hdr_log: arguments.hdr_log.clone(),
    })
}

/// Refuses options that conflict, or that are impossible on this machine.
fn check_options(arguments: &Arguments) -> Result<()> {
    if arguments.urls.is_empty()
        && arguments.urls_file.is_none()
        && arguments.requests_file.is_none()
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
        ("--body-file", &arguments.body_file),
        ("--requests-file", &arguments.requests_file),
        ("--cacert", &arguments.servers.cacert),
    ] {
        if let Some(path) = path.as_ref().filter(|path| *path != Path::new("-")) {
            check_readable(option, path)?;
        }
    }
    let http2 = arguments.http2();
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
    if arguments.timeout.is_zero() {
        bail!("--timeout 0: must be above 0; write it like 5s");
    }
    check_open_files(arguments.connections)
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

fn body(arguments: &Arguments) -> Result<Option<Vec<u8>>> {
    match (&arguments.body, &arguments.body_file) {
        (Some(text), _) => Ok(Some(text.clone().into_bytes())),
        (None, Some(path)) => {
            let bytes =
                std::fs::read(path).with_context(|| format!("--body-file {}", path.display()))?;
            Ok(Some(bytes))
        }
        (None, None) => Ok(None),
    }
}

/// Refuses more connections than this process may ever open, which would only cost memory.
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

fn termination(arguments: &Arguments) -> Result<Termination> {
    if arguments
        .duration
        .is_some_and(|duration| duration.is_zero())
    {
        bail!("--duration 0: must be above 0; write it like 10s");
    }
    let duration = match (arguments.duration, arguments.requests) {
        (None, None) => Some(DURATION),
        (duration, _) => duration,
    };
    Ok(Termination {
        requests: arguments.requests,
        duration_ns: duration.map(nanos),
    })
}

fn pace(arguments: &Arguments, termination: &Termination) -> Result<Option<(Rate, Arrivals)>> {
    let is_random = arguments.arrivals == Some(ArrivalsName::Poisson);
    if arguments.seed.is_some() && !is_random {
        bail!("--seed requires --arrivals poisson");
    }
    let Some(RateRange { from, to }) = arguments.rate else {
        if arguments.arrivals.is_some() {
            bail!("--arrivals requires --rate");
        }
        return Ok(None);
    };
    let rate = match (to, termination.duration_ns) {
        (None, _) => Rate::Constant(from),
        (Some(to), Some(over_ns)) if over_ns > 0 => Rate::Ramp { from, to, over_ns },
        (Some(_), _) => bail!("--rate with .. is a ramp over the whole load; add --duration"),
    };
    let arrivals = if is_random {
        Arrivals::Poisson {
            seed: arguments.seed.unwrap_or(SEED),
        }
    } else {
        Arrivals::Constant
    };
    Ok(Some((rate, arrivals)))
}

fn cpus(arguments: &Arguments) -> Result<Vec<usize>> {
    let Some(cpus) = &arguments.cpus else {
        return Ok(Vec::new());
    };
    cpus.check_within(&CpuSet::allowed()?, "load")?;
    Ok(cpus.iter().collect())
}

fn requests(arguments: &Arguments, shape: &Shape) -> Result<Requests> {
    let mut all = Preparation::new(shape);
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
        for line in jsonl::lines(reader(path).with_context(name)?) {
            let (number, described) = line.with_context(name)?;
            let added = all.add(described);
            added.map_err(|error| anyhow!("{}: line {number}: {error}", name()))?;
        }
    }
    all.finish().map_err(|_| {
        anyhow!(
            "{}: no requests in the file; write a line for each request",
            files(arguments)
        )
    })
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
