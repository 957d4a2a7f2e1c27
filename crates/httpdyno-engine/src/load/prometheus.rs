//! `--prometheus ADDRESS:PORT`: serves the counters of a running load in Prometheus' text format, and in
//! `OpenMetrics`.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_load::{Buckets, LabelCounts, Rate, Second};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::sums::Sums;

/// Upper ends of the buckets, in nanoseconds: ten for each power of ten, from 20 us to 20 s.
const BOUNDS_NS: [u64; 61] = bounds();
/// Time in which a request must come and its answer be taken.
const PATIENCE: Duration = Duration::from_secs(5);
const LONGEST_REQUEST: usize = 16 * 1024;

const fn bounds() -> [u64; 61] {
    /// Each is 26 % above the one before: Renard's series R10.
    const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
    let mut bounds = [0; 61];
    let (mut place, mut power_ns) = (0, 100);
    while place < bounds.len() {
        // The fourth step is the first: 20 us.
        let step = (place + 3) % STEPS.len();
        if place > 0 && step == 0 {
            power_ns *= 10;
        }
        bounds[place] = STEPS[step] * power_ns;
        place += 1;
    }
    bounds
}

/// Bounds of the histograms.
pub const fn bounds_ns() -> &'static [u64] {
    &BOUNDS_NS
}

/// Reads `ADDRESS:PORT` or `:PORT`; without an address the server listens on all.
pub fn scrape_address(text: &str) -> Result<ScrapeAddress, String> {
    let all = text.strip_prefix(':').and_then(|port| port.parse().ok());
    if let Some(port) = all {
        return Ok(ScrapeAddress(vec![
            (Ipv6Addr::UNSPECIFIED, port).into(),
            (Ipv4Addr::UNSPECIFIED, port).into(),
        ]));
    }
    let one = text.parse().map(|address| ScrapeAddress(vec![address]));
    one.map_err(|_| format!("{text:?} is not an address; write 127.0.0.1:9900, or :9900 for all addresses of this machine"))
}

/// The address to listen on: the first of these that this machine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScrapeAddress(Vec<SocketAddr>);

impl fmt::Display for ScrapeAddress {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.first() {
            Some(address) if address.ip().is_unspecified() => {
                write!(formatter, ":{}", address.port())
            }
            Some(address) => write!(formatter, "{address}"),
            None => Ok(()),
        }
    }
}

/// Serves the metrics until it is dropped.
#[derive(Debug)]
pub struct Exporter {
    sums: Arc<Mutex<Sums>>,
    end: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// Listens, and starts to serve. Counts are kept apart by these labels, if there are any.
    pub fn start(
        address: &ScrapeAddress,
        rate: Option<Rate>,
        labels: &[String],
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(&*address.0)?;
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut sums = Sums::new(&BOUNDS_NS, rate);
        let label = |name: &String| (name.clone(), LabelCounts::default());
        sums.labels = labels.iter().map(label).collect();
        let sums = Arc::new(Mutex::new(sums));
        let end = Arc::new(Notify::new());
        let serving = serve_until(end.clone(), listener, sums.clone());
        let thread = thread::Builder::new().name("prometheus".to_owned());
        let thread = thread.spawn(move || runtime.block_on(serving))?;
        Ok(Self {
            sums,
            end,
            thread: Some(thread),
        })
    }

    /// Counts a second.
    pub fn second(&self, second: &Second<'_>) {
        self.sums().add(second);
    }

    /// Follows the schedule of a new trial or step.
    pub fn begin(&self, rate: Option<Rate>) {
        self.sums().begin(rate);
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it panicked, the panic has been printed.
            let _ = thread.join();
        }
    }
}

async fn serve_until(end: Arc<Notify>, listener: TcpListener, sums: Arc<Mutex<Sums>>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        tokio::select! {
            () = end.notified() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let sums = sums.clone();
                    // One that asks for nothing does not delay others.
                    tokio::spawn(async move { timeout(PATIENCE, answer(stream, &sums)).await });
                }
                // Too many open files, for instance.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// Answers one request and closes.
async fn answer(mut stream: TcpStream, sums: &Mutex<Sums>) -> io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let page = |is_open| {
        // A copy, so that a page of a thousand labels does not delay the load's own counts.
        let sums = sums.lock().unwrap_or_else(PoisonError::into_inner).clone();
        text(&sums, is_open)
    };
    let text = response(&request, page);
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// The response to a request; `metrics` makes the text of the metrics, in `OpenMetrics` if that is true.
fn response(request: &str, metrics: impl FnOnce(bool) -> String) -> String {
    let mut words = request.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let path = target.split('?').next().unwrap_or("");
    let is_open = request.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.starts_with("accept:") && line.contains("application/openmetrics-text")
    });
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") if is_open => (
            "200 OK",
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            metrics(true),
        ),
        ("GET" | "HEAD", "/metrics") => (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            metrics(false),
        ),
        ("GET" | "HEAD", _) => (
            "404 Not Found",
            plain,
            "the metrics are at /metrics\n".to_owned(),
        ),
        _ => ("405 Method Not Allowed", plain, "use GET\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method == "HEAD" { head } else { head + &body }
}

/// The page of the sums over all trials.
fn text(sums: &Sums, is_open: bool) -> String {
    let mut page = Page {
        text: String::new(),
        is_open,
    };
    page.counter("requests_sent", "Requests sent.", [("", sums.sent)]);
    page.counter(
        "requests",
        "Complete answers by status.",
        by_label(sums, &sums.statuses, |label| &label.statuses)
            .flat_map(|(label, counts)| series(label.as_deref(), "status", counts)),
    );
    page.counter(
        "errors",
        "Requests without an answer by cause.",
        by_label(sums, &sums.errors, |label| &label.errors)
            .flat_map(|(label, counts)| series(label.as_deref(), "kind", counts)),
    );
    page.counter(
        "failed_answers",
        "Answers that are not good: neither 2xx nor 3xx, or refused by a check.",
        by_label(sums, &sums.failed_answers, |label| &label.failed_answers)
            .map(|(label, count)| (labels([label]), *count)),
    );
    page.counter(
        "content_bytes",
        "Content received.",
        [("", sums.content_bytes)],
    );
    page.counter(
        "connections_opened",
        "Connections opened.",
        [("", sums.opened)],
    );
    page.counter(
        "connections_failed",
        "Failed attempts to connect.",
        [("", sums.not_opened)],
    );
    page.gauge("requests_in_flight", "Requests in flight.", sums.in_flight);
    page.histogram(
        "response_time_seconds",
        "Time from when a request was due to the end of its answer, of good answers.",
        by_label(sums, &sums.response, |label| &label.response),
    );
    if let Some(rate) = sums.target_rate() {
        page.gauge("target_requests_per_second", "Rate of the schedule.", rate);
        page.histogram(
            "send_lag_seconds",
            "Delay of the generator beyond the moment at which it could send.",
            [(None, &sums.send_lag)],
        );
    }
    if is_open {
        page.text.push_str("# EOF\n");
    }
    page.text
}

/// A value of each label; without labels, that of the whole load.
fn by_label<'s, T>(
    sums: &'s Sums,
    whole: &'s T,
    of_label: fn(&'s LabelCounts) -> &'s T,
) -> impl Iterator<Item = (Option<String>, &'s T)> {
    let whole = sums.labels.is_empty().then_some((None, whole));
    let labels = sums.labels.iter();
    let labels = labels.map(move |(name, counts)| (Some(label("label", name)), of_label(counts)));
    whole.into_iter().chain(labels)
}

/// The series of counts by a key.
fn series<K: fmt::Display>(
    of_label: Option<&str>,
    key: &str,
    counts: &BTreeMap<K, u64>,
) -> Vec<(String, u64)> {
    let series = |(value, count): (&K, &u64)| {
        let own = label(key, &value.to_string());
        (labels([of_label.map(str::to_owned), Some(own)]), *count)
    };
    counts.iter().map(series).collect()
}

/// A label of the format, with its value escaped.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', r"\\");
    let value = value.replace('"', r#"\""#).replace('\n', r"\n");
    format!("{name}=\"{value}\"")
}

/// The labels of a series in braces; empty without any.
fn labels(all: impl IntoIterator<Item = Option<String>>) -> String {
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() {
        return String::new();
    }
    format!("{{{}}}", all.join(","))
}

/// The text of metrics.
struct Page {
    text: String,
    /// In `OpenMetrics` a counter is named without its suffix.
    is_open: bool,
}

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(
            self.text,
            "# HELP httpdyno_{name} {help}\n# TYPE httpdyno_{name} {kind}"
        );
    }

    fn counter<L: AsRef<str>>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (L, u64)>,
    ) {
        let suffix = if self.is_open { "" } else { "_total" };
        self.head(&format!("{name}{suffix}"), "counter", help);
        for (labels, value) in values {
            let labels = labels.as_ref();
            let _ = writeln!(self.text, "httpdyno_{name}_total{labels} {value}");
        }
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl fmt::Display) {
        self.head(name, "gauge", help);
        let _ = writeln!(self.text, "httpdyno_{name} {value}");
    }

    fn histogram<'b>(
        &mut self,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (Option<String>, &'b Buckets)>,
    ) {
        self.head(name, "histogram", help);
        for (label, buckets) in values {
            let first = label
                .as_ref()
                .map_or(String::new(), |label| format!("{label},"));
            let own = labels([label]);
            let mut below = 0;
            for (place, bound_ns) in BOUNDS_NS.iter().enumerate() {
                below += buckets.counts.get(place).unwrap_or(&0);
                let bound_s = Duration::from_nanos(*bound_ns).as_secs_f64();
                let _ = writeln!(
                    self.text,
                    "httpdyno_{name}_bucket{{{first}le=\"{bound_s:?}\"}} {below}"
                );
            }
            let all: u64 = buckets.counts.iter().sum();
            let _ = writeln!(
                self.text,
                "httpdyno_{name}_bucket{{{first}le=\"+Inf\"}} {all}\nhttpdyno_{name}_sum{own} {}\nhttpdyno_{name}_count{own} {all}",
                buckets.sum_s
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port() {
        let first = |text| scrape_address(text).unwrap().0[0].to_string();
        assert_eq!(first("127.0.0.1:9900"), "127.0.0.1:9900");
        assert_eq!(first(":9900"), "[::]:9900");
        assert_eq!(first("[::1]:0"), "[::1]:0");
        for wrong in [
            "",
            "9900",
            "localhost:9900",
            ":",
            ":99999",
            "1.2.3.4",
            "http://1.2.3.4:80",
        ] {
            let refused = scrape_address(wrong).unwrap_err();
            assert!(refused.contains("; write 127.0.0.1:9900"), "{refused}");
        }
    }

    #[test]
    fn bounds_rise_by_a_quarter() {
        assert_eq!((BOUNDS_NS[0], BOUNDS_NS[60]), (20_000, 20_000_000_000));
        for pair in BOUNDS_NS.windows(2) {
            let percent = 100 * pair[1] / pair[0];
            assert!((124..=128).contains(&percent), "{pair:?}");
        }
    }

    #[test]
    fn metrics_follow_both_formats() {
        let mut sums = Sums::new(&BOUNDS_NS, None);
        sums.sent = 7;
        sums.statuses = BTreeMap::from([(200, 4), (503, 1)]);
        sums.errors = BTreeMap::from([("Timeout", 2)]);
        let counts = |places: &[(usize, u64)]| {
            let mut counts = vec![0; BOUNDS_NS.len() + 1];
            for (place, count) in places {
                counts[*place] += count;
            }
            counts
        };
        for places in [&[(0, 1), (2, 2)][..], &[(61, 1)]] {
            sums.response.add(&Buckets {
                counts: counts(places),
                sum_s: 0.5,
            });
        }
        let text = super::text(&sums, false);
        for line in [
            "# TYPE httpdyno_requests_total counter\n",
            "httpdyno_requests_total{status=\"503\"} 1\n",
            "httpdyno_errors_total{kind=\"Timeout\"} 2\n",
            "httpdyno_response_time_seconds_bucket{le=\"2e-5\"} 1\n",
            "httpdyno_response_time_seconds_bucket{le=\"20.0\"} 3\n",
            "httpdyno_response_time_seconds_bucket{le=\"+Inf\"} 4\n",
            "httpdyno_response_time_seconds_sum 1\n",
            "httpdyno_response_time_seconds_count 4\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(
            !text.contains("send_lag") && !text.contains("# EOF"),
            "a closed loop"
        );
        sums.rate = Some(Rate::constant(dyno_load::PerSecond::parse("50").unwrap()));
        let text = super::text(&sums, true);
        assert!(text.contains("# TYPE httpdyno_requests counter\nhttpdyno_requests_total{status"));
        assert!(text.contains("httpdyno_target_requests_per_second 50\n"));
        assert!(text.ends_with("httpdyno_send_lag_seconds_count 0\n# EOF\n"));
    }

    #[test]
    fn each_label_has_its_series() {
        let mut sums = Sums::new(&BOUNDS_NS, None);
        let mut counts = LabelCounts {
            statuses: BTreeMap::from([(200, 2)]),
            errors: BTreeMap::from([("Timeout", 1)]),
            ..LabelCounts::default()
        };
        counts.response.add(&Buckets {
            counts: vec![2],
            sum_s: 0.5,
        });
        // The load's own sums are those of its labels.
        sums.statuses.clone_from(&counts.statuses);
        sums.labels = vec![
            ("a \"b\" \\ c\nd".to_owned(), counts),
            ("/never".to_owned(), LabelCounts::default()),
        ];
        let text = super::text(&sums, false);
        let escaped = r#"label="a \"b\" \\ c\nd""#;
        for line in [
            format!("httpdyno_requests_total{{{escaped},status=\"200\"}} 2\n"),
            format!("httpdyno_errors_total{{{escaped},kind=\"Timeout\"}} 1\n"),
            format!("httpdyno_failed_answers_total{{{escaped}}} 0\n"),
            format!("httpdyno_response_time_seconds_bucket{{{escaped},le=\"2e-5\"}} 2\n"),
            format!("httpdyno_response_time_seconds_bucket{{{escaped},le=\"+Inf\"}} 2\n"),
            format!("httpdyno_response_time_seconds_sum{{{escaped}}} 0.5\n"),
            format!("httpdyno_response_time_seconds_count{{{escaped}}} 2\n"),
            "httpdyno_response_time_seconds_count{label=\"/never\"} 0\n".to_owned(),
            "httpdyno_requests_sent_total 0\n".to_owned(),
        ] {
            assert!(text.contains(&line), "{line}{text}");
        }
        assert!(!text.contains("requests_total{status"), "{text}");
    }

    #[test]
    fn only_metrics_are_served() {
        for (request, status, body) in [
            ("GET /metrics HTTP/1.1\r\n\r\n", "200 OK", "false"),
            (
                "GET /metrics?a HTTP/1.1\r\nAccept: application/openmetrics-text;q=1\r\n\r\n",
                "200 OK",
                "true",
            ),
            ("HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", ""),
            (
                "GET / HTTP/1.1\r\n\r\n",
                "404 Not Found",
                "the metrics are at /metrics\n",
            ),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                "405 Method Not Allowed",
                "use GET\n",
            ),
        ] {
            let text = response(request, |is_open| is_open.to_string());
            let (head, found) = text.split_once("\r\n\r\n").unwrap();
            assert!(
                head.starts_with(&format!("HTTP/1.1 {status}\r\n")),
                "{head}"
            );
            assert_eq!(found, body);
        }
    }
}
