//! The access log: when each request arrived, and when its answer was complete.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hash, RandomState};
use std::io::{self, Write};

use dyno_web::Scheme;

use crate::bounds::Distinct;

/// A URL's fingerprint: 128 bits, so that no two of a million URLs have the same by chance (1 in 10^26).
type Fingerprint = u128;

/// Computes fingerprints; only those of the same instance can be compared.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fingerprints(RandomState, RandomState);

impl Fingerprints {
    pub(crate) fn of(&self, value: &impl Hash) -> Fingerprint {
        u128::from(self.0.hash_one(value)) << 64 | u128::from(self.1.hash_one(value))
    }
}

/// The URL of a request.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Url<'r> {
    pub(crate) scheme: Scheme,
    /// In lower case, with the port unless it is the scheme's default.
    pub(crate) authority: &'r str,
    pub(crate) target: &'r str,
}

/// One request, 32 bytes; `done_ns` and `status` are 0 until known.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at_ns: u64,
    done_ns: u64,
    connection: u64,
    url: u32,
    status: u16,
}

/// Index of an arrival in its log, to be completed later.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place(Option<usize>);

/// The arrivals of one thread, with their distinct URLs.
#[derive(Debug)]
pub(crate) struct ThreadLog {
    fingerprints: Fingerprints,
    /// Distinct URLs that were only counted.
    counted: Distinct,
    /// Distinct URLs that were logged, with their places in `urls`.
    logged: HashMap<Fingerprint, u32>,
    urls: Texts,
    /// `None` if arrivals are only counted.
    arrivals: Option<Vec<Arrival>>,
    /// Number of arrivals in earlier logs: indices continue, so that an index of an earlier log is recognised.
    before: usize,
}

/// Many short texts in one allocation.
#[derive(Debug, Default)]
struct Texts {
    bytes: String,
    ends: Vec<usize>,
}

impl Texts {
    fn get(&self, place: u32) -> &str {
        let place = place as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[place]]
    }
}

impl ThreadLog {
    /// Creates an empty log. If arrivals are only counted, it remembers the last `most` URLs, or all.
    pub(crate) fn new(fingerprints: Fingerprints, log_arrivals: bool, most: Option<usize>) -> Self {
        Self {
            fingerprints,
            counted: Distinct::new(most),
            logged: HashMap::new(),
            urls: Texts::default(),
            arrivals: log_arrivals.then(Vec::new),
            before: 0,
        }
    }

    /// Starts a new log and returns the current one; arrivals of the returned log that complete later are not noted.
    pub(crate) fn turn_over(&mut self, log_arrivals: bool, most: Option<usize>) -> Self {
        let next = Self {
            before: self.before + self.arrivals.as_ref().map_or(0, Vec::len),
            ..Self::new(self.fingerprints.clone(), log_arrivals, most)
        };
        std::mem::replace(self, next)
    }

    /// Whether arrivals are logged.
    pub(crate) fn is_kept(&self) -> bool {
        self.arrivals.is_some()
    }

    fn at(&mut self, place: Place) -> Option<&mut Arrival> {
        let place = place.0?.checked_sub(self.before)?;
        self.arrivals.as_mut()?.get_mut(place)
    }

    /// Notes a request.
    pub(crate) fn arrive(&mut self, url: Url<'_>, at_ns: u64, connection: u64) -> Place {
        let fingerprint = self.fingerprints.of(&url);
        let Some(arrivals) = &mut self.arrivals else {
            self.counted.insert(fingerprint);
            return Place(None);
        };
        let urls = &mut self.urls;
        let url = *self.logged.entry(fingerprint).or_insert_with(|| {
            for part in [url.scheme.name(), "://", url.authority, url.target] {
                urls.bytes.push_str(part);
            }
            urls.ends.push(urls.bytes.len());
            u32::try_from(urls.ends.len() - 1).expect("fewer than 2^32 URLs fit in memory")
        });
        arrivals.push(Arrival {
            at_ns,
            done_ns: 0,
            connection,
            url,
            status: 0,
        });
        Place(Some(self.before + arrivals.len() - 1))
    }

    /// Notes a request with the URL of an earlier one.
    pub(crate) fn arrive_again(&mut self, earlier: Place, at_ns: u64, connection: u64) -> Place {
        // The earlier arrival may belong to a log that has been returned.
        let Some(url) = self.at(earlier).map(|earlier| earlier.url) else {
            return Place(None);
        };
        let Some(arrivals) = &mut self.arrivals else {
            return Place(None);
        };
        arrivals.push(Arrival {
            at_ns,
            done_ns: 0,
            connection,
            url,
            status: 0,
        });
        Place(Some(self.before + arrivals.len() - 1))
    }

    /// Notes that the head of an answer with `status` was sent.
    pub(crate) fn answer(&mut self, place: Place, status: u16) {
        if let Some(arrival) = self.at(place) {
            arrival.status = status;
        }
    }

    /// Notes that the last byte of an answer was passed to the kernel.
    pub(crate) fn complete(&mut self, place: Place, done_ns: u64) {
        if let Some(arrival) = self.at(place) {
            arrival.done_ns = done_ns;
        }
    }
}

/// All requests of a trial.
#[derive(Debug, Default)]
pub struct AccessLog {
    logs: Vec<ThreadLog>,
}

impl AccessLog {
    pub(crate) fn new(logs: Vec<ThreadLog>) -> Self {
        Self { logs }
    }

    /// Number of distinct requested URLs.
    pub(crate) fn distinct_urls(&self) -> u64 {
        let counted = Distinct::count(self.logs.iter().map(|log| &log.counted));
        match self.logs.as_slice() {
            [log] => counted + log.logged.len() as u64,
            logs => {
                let all: HashSet<_> = logs.iter().flat_map(|log| log.logged.keys()).collect();
                counted + all.len() as u64
            }
        }
    }

    /// Number of logged requests; 0 without a log.
    #[must_use]
    pub fn len(&self) -> usize {
        self.logs
            .iter()
            .filter_map(|log| log.arrivals.as_ref())
            .map(Vec::len)
            .sum()
    }

    /// Whether no request was logged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the requests in order of arrival, as CSV with the header `at_ns,done_ns,connection,url,status`.
    ///
    /// `done_ns` is empty if the answer was not completed, `status` if it was not begun.
    ///
    /// # Errors
    ///
    /// Errors of `output`, which should be buffered.
    pub fn write_csv(&self, output: &mut impl Write) -> io::Result<()> {
        let mut ordered: Vec<(&Arrival, &Texts)> = Vec::with_capacity(self.len());
        for log in &self.logs {
            ordered.extend(
                log.arrivals
                    .iter()
                    .flatten()
                    .map(|arrival| (arrival, &log.urls)),
            );
        }
        ordered.sort_by_key(|(arrival, _)| arrival.at_ns);
        output.write_all(b"at_ns,done_ns,connection,url,status\n")?;
        for (arrival, urls) in ordered {
            write!(output, "{},", arrival.at_ns)?;
            if arrival.done_ns > 0 {
                write!(output, "{}", arrival.done_ns)?;
            }
            write!(output, ",{},", arrival.connection)?;
            write_field(output, urls.get(arrival.url))?;
            match arrival.status {
                0 => output.write_all(b",\n")?,
                status => writeln!(output, ",{status}")?,
            }
        }
        Ok(())
    }
}

/// Writes a field of CSV, quoted if necessary (RFC 4180).
fn write_field(output: &mut impl Write, field: &str) -> io::Result<()> {
    if field.contains([',', '"', '\n', '\r']) {
        write!(output, "\"{}\"", field.replace('"', "\"\""))
    } else {
        output.write_all(field.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url<'r>(scheme: Scheme, authority: &'r str, target: &'r str) -> Url<'r> {
        Url {
            scheme,
            authority,
            target,
        }
    }

    #[test]
    fn logs_of_threads_become_one_csv_in_order() {
        let fingerprints = Fingerprints::default();
        let mut first = ThreadLog::new(fingerprints.clone(), true, None);
        let mut second = ThreadLog::new(fingerprints, true, None);
        let done = first.arrive(url(Scheme::Https, "a.test", "/?q=1,2"), 30, 7);
        first.answer(done, 200);
        first.complete(done, 35);
        second.arrive(url(Scheme::Http, "b.test:8080", "/\"x\""), 10, 8);
        let begun = second.arrive(url(Scheme::Https, "a.test", "/?q=1,2"), 20, 9);
        second.answer(begun, 404);
        let arrivals = AccessLog::new(vec![first, second]);
        let mut csv = Vec::new();
        arrivals.write_csv(&mut csv).unwrap();
        let expected = "at_ns,done_ns,connection,url,status\n\
                        10,,8,\"http://b.test:8080/\"\"x\"\"\",\n\
                        20,,9,\"https://a.test/?q=1,2\",404\n\
                        30,35,7,\"https://a.test/?q=1,2\",200\n";
        assert_eq!(String::from_utf8(csv).unwrap(), expected);
        assert_eq!((arrivals.len(), arrivals.distinct_urls()), (3, 2));
    }

    #[test]
    fn a_log_that_was_turned_over_is_left_alone() {
        let mut log = ThreadLog::new(Fingerprints::default(), true, None);
        let early = log.arrive(url(Scheme::Http, "a.test", "/early"), 1, 1);
        let first = log.turn_over(true, None);
        let late = log.arrive(url(Scheme::Http, "a.test", "/late"), 2, 1);
        log.complete(early, 9);
        log.answer(early, 500);
        log.answer(late, 200);
        log.complete(late, 3);
        let csv = |log| {
            let mut csv = Vec::new();
            AccessLog::new(vec![log]).write_csv(&mut csv).unwrap();
            String::from_utf8(csv).unwrap()
        };
        assert!(csv(first).ends_with("status\n1,,1,http://a.test/early,\n"));
        let second = log.turn_over(false, None);
        assert!(csv(second).ends_with("status\n2,3,1,http://a.test/late,200\n"));
        log.complete(late, 4);
        assert_eq!(AccessLog::new(vec![log]).len(), 0);
    }

    #[test]
    fn urls_are_distinguished_without_a_log() {
        let mut log = ThreadLog::new(Fingerprints::default(), false, None);
        for target in ["/", "/a", "/"] {
            let place = log.arrive(url(Scheme::Http, "a.test", target), 1, 1);
            log.answer(place, 200);
            log.complete(place, 2);
        }
        let arrivals = AccessLog::new(vec![log]);
        assert_eq!((arrivals.len(), arrivals.distinct_urls()), (0, 2));
    }

    #[test]
    fn a_scheme_or_a_split_makes_a_different_url() {
        let fingerprints = Fingerprints::default();
        let urls = [
            url(Scheme::Http, "a", "/b"),
            url(Scheme::Https, "a", "/b"),
            url(Scheme::Http, "a/", "b"),
        ];
        let distinct: HashSet<_> = urls.iter().map(|url| fingerprints.of(url)).collect();
        assert_eq!(distinct.len(), 3);
    }
}
