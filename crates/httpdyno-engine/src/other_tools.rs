//! `load --as TOOL -- WORDS`: translation of the command line of another load generator. Pure.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

/// The options of `load` that a command line of another tool means.
#[derive(Debug, PartialEq, Eq)]
pub struct Translation {
    /// The whole command line.
    pub words: Vec<String>,
    /// What was left out, and why.
    pub notes: Vec<String>,
}

/// What an option of another tool means.
#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// The option of `load` with the same value.
    Value(&'static str),
    /// The option of `load` with its value in seconds.
    Seconds(&'static str),
    /// An option of `load` without a value.
    Flag(&'static str),
    /// A field of the header.
    Field(&'static str),
    /// User and password.
    Basic,
    /// User and password of the proxy.
    ProxyUser,
    /// The file with the body, and the method.
    BodyFile(&'static str),
    /// A method without a value.
    Method(&'static str),
    /// Number of requests, with `k` or `m` behind it.
    Requests,
    /// Requests per second of each connection.
    RateOfEach,
    /// Length of the load, whatever the number of requests.
    DurationAlone,
    /// Length of the load in seconds, and the number of requests that ends it sooner.
    SecondsUpTo(&'static str),
    /// `load` does this anyway, or prints it.
    Same,
    /// Left out, for this reason; the option has a value.
    LeftOut(&'static str),
    /// The same without a value.
    FlagLeftOut(&'static str),
    /// Refused, for this reason.
    Refused(&'static str),
}

impl Meaning {
    const fn takes_value(self) -> bool {
        !matches!(
            self,
            Self::Flag(_) | Self::Method(_) | Self::Same | Self::FlagLeftOut(_) | Self::Refused(_)
        )
    }
}

type Row = (&'static [&'static str], Meaning);

/// Another load generator.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a habit of the tool, independent of the others"
)]
struct Tool {
    name: &'static str,
    /// Whether its options are read as programs in Go do: `-cpus 2`, `-n=5`; else `-c64` is `-c 64`.
    is_go: bool,
    options: &'static [Row],
    /// What the tool does without an option; dropped where another word says otherwise.
    defaults: &'static [(&'static str, &'static str)],
    /// Whether connections are closed after each request without `-k`.
    closes: bool,
    /// Whether it follows redirects.
    follows: bool,
    /// Fields that it sends with every request.
    fields: &'static [(&'static str, &'static str)],
    /// Media type of a body, if it sends one.
    content_type: Option<&'static str>,
    /// Whether the method stays GET if there is a body.
    stays_get: bool,
    /// Whether it verifies certificates.
    verifies: bool,
    /// What `load` does otherwise, and the options after which it does not.
    differences: &'static [(&'static str, &'static [&'static str])],
}

const OWN_AGENT: (&str, &[&str]) = ("names itself httpdyno (User-Agent)", &["User-Agent"]);
/// Options that leave out the field `Accept-Encoding`.
const UNCOMPRESSED: [&str; 2] = ["-disable-compression", "--disable-compression"];

const THREADS: Meaning = Meaning::LeftOut("load has a thread on each CPU; choose them with --cpus");
const SCRIPTS: Meaning = Meaning::Refused(
    "load has no scripts; list the requests in a file, and name it with --requests-file",
);
const CPUS: Meaning = Meaning::LeftOut("choose CPUs with --cpus, such as --cpus 0-1");
const SAMPLES: Meaning = Meaning::LeftOut("--samples FILE writes a line for each request");

const WRK: &[Row] = &[
    (&["-c", "--connections"], Meaning::Value("--connections")),
    (&["-d", "--duration"], Meaning::Value("--duration")),
    (&["-t", "--threads"], THREADS),
    (&["-s", "--script"], SCRIPTS),
    (&["-H", "--header"], Meaning::Value("--header")),
    (
        &[
            "-L",
            "--latency",
            "-U",
            "--u_latency",
            "-B",
            "--batch_latency",
        ],
        Meaning::Same,
    ),
    (&["-T", "--timeout"], Meaning::Value("--timeout")),
    (&["-R", "--rate"], Meaning::Value("--rate")),
];

const HEY: &[Row] = &[
    (&["-n"], Meaning::Requests),
    (&["-c"], Meaning::Value("--connections")),
    (&["-q"], Meaning::RateOfEach),
    (&["-z"], Meaning::DurationAlone),
    (
        &["-o"],
        Meaning::LeftOut("--samples FILE writes a line for each request, --format csv a table"),
    ),
    (&["-m"], Meaning::Value("--method")),
    (&["-H"], Meaning::Value("--header")),
    (&["-t"], Meaning::Seconds("--timeout")),
    (&["-A"], Meaning::Field("Accept")),
    (&["-d"], Meaning::Value("--body")),
    (&["-D"], Meaning::Value("--body-file")),
    (&["-T"], Meaning::Field("Content-Type")),
    (&["-U"], Meaning::Field("User-Agent")),
    (&["-a"], Meaning::Basic),
    (&["-host"], Meaning::Field("Host")),
    (&["-h2"], Meaning::Flag("--http2")),
    (&["-x"], Meaning::Value("--proxy")),
    (&["-disable-compression"], Meaning::Same),
    (&["-disable-keepalive"], Meaning::Flag("--no-keepalive")),
    (&["-disable-redirects"], Meaning::Same),
    (&["-cpus"], CPUS),
];

const OHA: &[Row] = &[
    (&["-n"], Meaning::Requests),
    (&["-c"], Meaning::Value("--connections")),
    (&["-p"], Meaning::Value("--streams")),
    (&["-z"], Meaning::DurationAlone),
    (&["-q"], Meaning::Value("--rate")),
    (&["-m", "--method"], Meaning::Value("--method")),
    (&["-H"], Meaning::Value("--header")),
    (&["-t"], Meaning::Value("--timeout")),
    (&["-A"], Meaning::Field("Accept")),
    (&["-d"], Meaning::Value("--body")),
    (&["-D"], Meaning::Value("--body-file")),
    (&["-F", "--form"], Meaning::Value("--multipart")),
    (&["-T"], Meaning::Field("Content-Type")),
    (&["-a"], Meaning::Basic),
    (&["--host"], Meaning::Field("Host")),
    (&["--http-version"], Meaning::Value("--http-version")),
    (&["--http2"], Meaning::Flag("--http2")),
    (&["--disable-keepalive"], Meaning::Flag("--no-keepalive")),
    (&["--insecure"], Meaning::Flag("--insecure")),
    (&["--cacert"], Meaning::Value("--cacert")),
    (&["--connect-to"], Meaning::Value("--connect-to")),
    (
        &["-r", "--redirect"],
        Meaning::LeftOut("load follows no redirects"),
    ),
    (
        &["--urls-from-file"],
        Meaning::Refused("write --urls FILE instead of --as oha"),
    ),
    (&["-x", "--proxy"], Meaning::Value("--proxy")),
    (
        &["--burst-delay", "--burst-rate"],
        Meaning::Refused("load sends no bursts; --rate sends evenly, --arrivals poisson at random"),
    ),
    (&["-j", "--json"], Meaning::Flag("--format=json")),
    (
        &[
            "--no-tui",
            "--latency-correction",
            "--disable-compression",
            "--disable-color",
            "--no-color",
            "--stats-success-breakdown",
        ],
        Meaning::Same,
    ),
    (
        &["--fps"],
        Meaning::LeftOut("load prints a line while it runs"),
    ),
];

const AB: &[Row] = &[
    (&["-n"], Meaning::Requests),
    (&["-c"], Meaning::Value("--connections")),
    (&["-t"], Meaning::SecondsUpTo("50000")),
    (&["-s"], Meaning::Seconds("--timeout")),
    (&["-p"], Meaning::BodyFile("POST")),
    (&["-u"], Meaning::BodyFile("PUT")),
    (&["-T"], Meaning::Field("Content-Type")),
    (&["-C"], Meaning::Field("Cookie")),
    (&["-H"], Meaning::Value("--header")),
    (&["-A"], Meaning::Basic),
    (&["-m"], Meaning::Value("--method")),
    (&["-i"], Meaning::Method("HEAD")),
    (&["-k"], Meaning::Flag("--keepalive")),
    (&["-X"], Meaning::Value("--proxy")),
    (&["-P"], Meaning::ProxyUser),
    (&["-g", "-e"], SAMPLES),
    (
        &["-b", "-v", "-x", "-y", "-z"],
        Meaning::LeftOut("it changes what ab prints or the size of its buffers"),
    ),
    (&["-B"], Meaning::Value("--local-address")),
    (&["-E"], Meaning::Value("--cert")),
    (
        &["-I"],
        Meaning::FlagLeftOut("load names the server in the TLS handshake (SNI)"),
    ),
    (&["-q", "-l", "-r", "-d", "-S", "-w"], Meaning::Same),
];

const TOOLS: [Tool; 4] = [
    Tool {
        name: "wrk",
        is_go: false,
        options: WRK,
        defaults: &[
            ("--connections", "10"),
            ("--duration", "10s"),
            ("--timeout", "2s"),
        ],
        closes: false,
        follows: false,
        fields: &[],
        content_type: None,
        stays_get: false,
        verifies: false,
        differences: &[
            OWN_AGENT,
            (
                "gives up a request at its timeout, which wrk only counts",
                &[],
            ),
        ],
    },
    Tool {
        name: "hey",
        is_go: true,
        options: HEY,
        defaults: &[
            ("--connections", "50"),
            ("--requests", "200"),
            ("--timeout", "20s"),
        ],
        closes: false,
        follows: true,
        fields: &[("Content-Type", "text/html"), ("Accept-Encoding", "gzip")],
        content_type: None,
        stays_get: true,
        verifies: false,
        differences: &[OWN_AGENT],
    },
    Tool {
        name: "oha",
        is_go: false,
        options: OHA,
        defaults: &[("--connections", "50"), ("--requests", "200")],
        closes: false,
        follows: true,
        fields: &[
            ("Accept", "*/*"),
            ("Accept-Encoding", "gzip, compress, deflate, br"),
        ],
        content_type: None,
        stays_get: true,
        verifies: true,
        differences: &[
            OWN_AGENT,
            ("waits 5 s for an answer, not forever", &["--timeout"]),
        ],
    },
    Tool {
        name: "ab",
        is_go: false,
        options: AB,
        defaults: &[
            ("--connections", "1"),
            ("--requests", "1"),
            ("--timeout", "30s"),
        ],
        closes: true,
        follows: false,
        fields: &[("Accept", "*/*")],
        content_type: Some("text/plain"),
        stays_get: false,
        verifies: false,
        differences: &[
            ("speaks HTTP/1.1, not 1.0", &[]),
            OWN_AGENT,
            (
                "does not count answers of another length than the first as failed",
                &["-l"],
            ),
        ],
    },
];

/// Translates `load ... --as TOOL -- WORDS`; `None` for any other command line.
///
/// # Errors
///
/// One line: which word cannot be translated, and what to write instead.
pub fn translation(typed: &[String]) -> Result<Option<Translation>, String> {
    let own = typed.split(|word| word == "--").next().unwrap_or_default();
    let Some(at) = own
        .iter()
        .position(|word| word == "--as" || word.starts_with("--as="))
    else {
        return Ok(None);
    };
    if typed.get(1).is_none_or(|verb| verb != "load") {
        return Ok(None);
    }
    let (name, next) = match own[at].strip_prefix("--as=") {
        Some(name) => (Some(name), at + 1),
        None => (own.get(at + 1).map(String::as_str), at + 2),
    };
    let known = "choose from: wrk, hey, oha, ab";
    let name = name.ok_or_else(|| format!("--as: name the tool; {known}"))?;
    let tool = TOOLS.iter().find(|tool| tool.name == name);
    let tool = tool.ok_or_else(|| format!("--as: {name:?} is unknown; {known}"))?;
    let Some(words) = typed.get(own.len() + 1..).filter(|words| !words.is_empty()) else {
        return Err(format!(
            "--as {name}: write the command line of {name} after --: httpdyno load --as {name} -- -c 64 http://localhost:8080/"
        ));
    };
    // The name of the tool may be there as well.
    let words = if words[0] == tool.name {
        &words[1..]
    } else {
        words
    };
    let meant = Meant::read(tool, words)?;
    let kept = own[..at].iter().chain(&own[next..]).cloned();
    let (words, notes) = meant.finish(tool);
    Ok(Some(Translation {
        words: kept.chain(words).collect(),
        notes,
    }))
}

/// What the words of another tool mean, while they are read.
#[derive(Debug, Default)]
struct Meant {
    /// Options of `load` with their values, in the order of the words.
    options: Vec<(&'static str, Option<String>)>,
    urls: Vec<String>,
    rate_of_each: Option<String>,
    proxy_user: Option<String>,
    is_duration_alone: bool,
    /// Options of the tool that change nothing here.
    same: Vec<String>,
    notes: Vec<String>,
}

impl Meant {
    fn read(tool: &Tool, words: &[String]) -> Result<Self, String> {
        let mut meant = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') || word == "-" {
                meant.urls.push(word.clone());
                continue;
            }
            let mut rest = Some(word.clone());
            while let Some(word) = rest.take() {
                let (name, joined) = named(tool, &word);
                let row = tool
                    .options
                    .iter()
                    .find(|(names, _)| names.contains(&name.as_str()));
                let Some((_, meaning)) = row else {
                    return Err(format!(
                        "--as {}: {name} is not understood; remove it, or use the options of load: httpdyno load -h",
                        tool.name
                    ));
                };
                let value = match (meaning.takes_value(), joined) {
                    (true, Some(joined)) => Some(joined),
                    (true, None) => Some(words.next().cloned().ok_or_else(|| {
                        format!("--as {}: {name}: its value is missing", tool.name)
                    })?),
                    (false, joined) => {
                        // Of several flags behind one hyphen, the others.
                        rest = joined.map(|others| format!("-{others}"));
                        None
                    }
                };
                meant.take(tool, &name, *meaning, value.unwrap_or_default())?;
            }
        }
        Ok(meant)
    }

    fn take(
        &mut self,
        tool: &Tool,
        name: &str,
        meaning: Meaning,
        value: String,
    ) -> Result<(), String> {
        match meaning {
            Meaning::Value(option) => self.options.push((option, Some(value))),
            Meaning::Seconds(option) => self.options.push((option, Some(format!("{value}s")))),
            Meaning::Flag(option) => self.options.push((option, None)),
            Meaning::Field(field) => {
                self.options
                    .push(("--header", Some(format!("{field}: {value}"))));
            }
            Meaning::Basic => {
                let encoded = STANDARD.encode(&value);
                self.options
                    .push(("--header", Some(format!("Authorization: Basic {encoded}"))));
            }
            Meaning::ProxyUser => self.proxy_user = Some(value),
            Meaning::BodyFile(method) => {
                self.options.push(("--method", Some(method.to_owned())));
                self.options.push(("--body-file", Some(value)));
            }
            Meaning::Method(method) => self.options.push(("--method", Some(method.to_owned()))),
            Meaning::Requests => self.options.push(("--requests", Some(count(&value)))),
            Meaning::DurationAlone => {
                self.options.push(("--duration", Some(value)));
                self.is_duration_alone = true;
            }
            Meaning::RateOfEach => self.rate_of_each = Some(value),
            Meaning::SecondsUpTo(requests) => {
                self.options.push(("--duration", Some(format!("{value}s"))));
                self.options.push(("--requests", Some(requests.to_owned())));
            }
            Meaning::Same => self.same.push(name.to_owned()),
            Meaning::LeftOut(why) | Meaning::FlagLeftOut(why) => {
                self.notes.push(format!("{name} is left out: {why}"));
            }
            Meaning::Refused(why) => return Err(format!("--as {}: {name}: {why}", tool.name)),
        }
        Ok(())
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|(own, _)| *own == option)
    }

    fn has_field(&self, name: &str) -> bool {
        self.options.iter().any(|(option, value)| {
            let field = value.as_deref().and_then(|text| text.split_once(':'));
            *option == "--header" && field.is_some_and(|(own, _)| own.eq_ignore_ascii_case(name))
        })
    }

    fn had(&self, option: &str) -> bool {
        self.same.iter().any(|own| own == option)
    }

    /// Adds what the tool sends with every request, and lets `load` trust the certificates that the tool trusts.
    fn add_fields(&mut self, tool: &Tool) {
        let has_body = self.has("--body") || self.has("--body-file");
        let typed = tool.content_type.filter(|_| has_body);
        let typed = typed.map(|value| ("Content-Type", value));
        let is_plain = UNCOMPRESSED.iter().any(|option| self.had(option));
        for (name, value) in tool.fields.iter().copied().chain(typed) {
            let is_left_out = name == "Accept-Encoding" && is_plain;
            if !self.has_field(name) && !is_left_out {
                self.options
                    .push(("--header", Some(format!("{name}: {value}"))));
            }
        }
        if tool.stays_get && has_body && !self.has("--method") {
            self.options.push(("--method", Some("GET".to_owned())));
        }
        let mut urls = self.urls.iter();
        if !tool.verifies && urls.any(|url| url.starts_with("https:")) {
            self.options.push(("--insecure", None));
        }
    }

    /// Notes what `load` does otherwise.
    fn note_differences(&mut self, tool: &Tool) {
        let differences = tool.differences.iter().filter(|(_, cures)| {
            let mut cures = cures.iter();
            !cures.any(|one| self.has(one) || self.has_field(one) || self.had(one))
        });
        let texts: Vec<&str> = differences.map(|(text, _)| *text).collect();
        if !texts.is_empty() {
            self.notes
                .push(format!("unlike {}, load {}", tool.name, texts.join(", ")));
        }
        if tool.follows && !self.had("-disable-redirects") {
            self.notes.push(format!(
                "{} follows redirects; load counts them as answers",
                tool.name
            ));
        }
    }

    /// The words of `load`, and the notes.
    fn finish(mut self, tool: &Tool) -> (Vec<String>, Vec<String>) {
        if self.is_duration_alone {
            self.options.retain(|(option, _)| *option != "--requests");
        }
        let has_duration = self.has("--duration");
        for (option, value) in tool.defaults {
            // A duration replaces the default number of requests.
            let is_replaced = *option == "--requests" && has_duration;
            if !self.has(option) && !is_replaced {
                self.options.push((option, Some((*value).to_owned())));
            }
        }
        if tool.closes && !self.has("--keepalive") {
            self.options.push(("--no-keepalive", None));
        }
        if let Some(pair) = self.proxy_user.take() {
            self.add_proxy_user(&pair);
        }
        if let Some(rate) = self.rate_of_each.take() {
            self.add_rate(&rate);
        }
        self.add_fields(tool);
        self.note_differences(tool);
        let mut words = self.urls;
        for (option, value) in self.options {
            words.push(option.to_owned());
            words.extend(value);
        }
        (words, self.notes)
    }

    /// Adds user and password to the proxy; without one they are a field of the header.
    fn add_proxy_user(&mut self, pair: &str) {
        let mut options = self.options.iter_mut();
        let proxy = options.find(|(option, _)| *option == "--proxy");
        let Some((_, Some(proxy))) = proxy else {
            let field = format!("Proxy-Authorization: Basic {}", STANDARD.encode(pair));
            self.options.push(("--header", Some(field)));
            return;
        };
        let (user, password) = pair.split_once(':').unwrap_or((pair, ""));
        let [user, password] =
            [user, password].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC));
        *proxy = format!("http://{user}:{password}@{proxy}");
    }

    /// Sets the rate of all connections.
    fn add_rate(&mut self, rate_of_each: &str) {
        let connections = self
            .options
            .iter()
            .rev()
            .find(|(option, _)| *option == "--connections");
        let connections = connections.and_then(|(_, value)| value.as_ref()?.parse::<f64>().ok());
        let rate = match (connections, rate_of_each.parse::<f64>()) {
            (Some(connections), Ok(rate)) => (connections * rate).to_string(),
            // The option itself says what is wrong.
            _ => rate_of_each.to_owned(),
        };
        self.options.push(("--rate", Some(rate)));
        self.notes.push(
            "-q is for each connection: their sum is the rate of an open loop, which keeps to it however slow the answers"
                .to_owned(),
        );
    }
}

/// The name of an option, and a value that is part of the same word.
fn named(tool: &Tool, word: &str) -> (String, Option<String>) {
    let split = |word: &str| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    };
    if tool.is_go {
        // One hyphen or two are the same.
        return split(
            word.strip_prefix('-')
                .filter(|rest| rest.starts_with('-'))
                .unwrap_or(word),
        );
    }
    if word.starts_with("--") {
        return split(word);
    }
    let end = word
        .char_indices()
        .nth(2)
        .map_or(word.len(), |(end, _)| end);
    let joined = (end < word.len()).then(|| word[end..].to_owned());
    (word[..end].to_owned(), joined)
}

/// A count with `k` for thousands or `m` for millions written out.
fn count(text: &str) -> String {
    for (suffix, zeros) in [("k", "000"), ("m", "000000")] {
        if let Some(number) = text.strip_suffix(suffix) {
            return format!("{number}{zeros}");
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translate(line: &str) -> Result<Option<Translation>, String> {
        let words: Vec<String> = shlex::split(line).unwrap();
        translation(&words)
    }

    fn words(line: &str) -> String {
        let translated = translate(line).unwrap().unwrap();
        shlex::try_join(translated.words.iter().map(String::as_str)).unwrap()
    }

    #[test]
    fn a_command_line_of_each_tool_becomes_options_of_load() {
        for (typed, expected) in [
            (
                "httpdyno load --as wrk -- -t4 -c64 -d30s --latency http://a/",
                "httpdyno load http://a/ --connections 64 --duration 30s --timeout 2s",
            ),
            (
                "httpdyno load --no-store --as wrk -- wrk -R2000 -H 'A: b' http://a/",
                "httpdyno load --no-store http://a/ --rate 2000 --header 'A: b' --connections 10 --duration 10s --timeout 2s",
            ),
            (
                "httpdyno load --as=hey -- -n=1000 -c 5 --m PUT -d '{}' -T text/plain -h2 http://a/",
                "httpdyno load http://a/ --requests 1000 --connections 5 --method PUT --body '{}' --header 'Content-Type: text/plain' --http2 --timeout 20s --header 'Accept-Encoding: gzip'",
            ),
            (
                "httpdyno load --as hey -- -n 9 -z 5s -q 10 http://a/",
                "httpdyno load http://a/ --duration 5s --connections 50 --timeout 20s --rate 500 --header 'Content-Type: text/html' --header 'Accept-Encoding: gzip'",
            ),
            (
                "httpdyno load --as oha -- -n 2k -q 100 -p 4 --http2 --insecure https://a/",
                "httpdyno load https://a/ --requests 2000 --rate 100 --streams 4 --http2 --insecure --connections 50 --header 'Accept: */*' --header 'Accept-Encoding: gzip, compress, deflate, br'",
            ),
            (
                "httpdyno load --as oha -- -n 5 -F a=b --form 'f=@x.png;type=image/png' http://a/",
                "httpdyno load http://a/ --requests 5 --multipart 'a=b' --multipart 'f=@x.png;type=image/png' --connections 50 --header 'Accept: */*' --header 'Accept-Encoding: gzip, compress, deflate, br'",
            ),
            (
                "httpdyno load --as ab -- -kr -n 100 -c10 -p body -T text/plain -A me:planted http://a/",
                "httpdyno load http://a/ --keepalive --requests 100 --connections 10 --method POST --body-file body --header 'Content-Type: text/plain' --header 'Authorization: Basic bWU6cGxhbnRlZA==' --timeout 30s --header 'Accept: */*'",
            ),
            (
                "httpdyno load --as ab -- -t 5 http://a/",
                "httpdyno load http://a/ --duration 5s --requests 50000 --connections 1 --timeout 30s --no-keepalive --header 'Accept: */*'",
            ),
            (
                "httpdyno load --as hey -- -x http://p:1 http://a/",
                "httpdyno load http://a/ --proxy http://p:1 --connections 50 --requests 200 --timeout 20s --header 'Content-Type: text/html' --header 'Accept-Encoding: gzip'",
            ),
            (
                "httpdyno load --as oha -- -x http://p:1 -p 2 http://a/",
                "httpdyno load http://a/ --proxy http://p:1 --streams 2 --connections 50 --requests 200 --header 'Accept: */*' --header 'Accept-Encoding: gzip, compress, deflate, br'",
            ),
            (
                "httpdyno load --as ab -- -k -P me:pl@nted -X p:1 http://a/",
                "httpdyno load http://a/ --keepalive --proxy 'http://me:pl%40nted@p:1' --connections 1 --requests 1 --timeout 30s --header 'Accept: */*'",
            ),
            (
                "httpdyno load --as ab -- -k -P me:planted http://a/",
                "httpdyno load http://a/ --keepalive --connections 1 --requests 1 --timeout 30s --header 'Proxy-Authorization: Basic bWU6cGxhbnRlZA==' --header 'Accept: */*'",
            ),
            (
                "httpdyno load --as ab -- -k -p body -C a=b https://a/",
                "httpdyno load https://a/ --keepalive --method POST --body-file body --header 'Cookie: a=b' --connections 1 --requests 1 --timeout 30s --header 'Accept: */*' --header 'Content-Type: text/plain' --insecure",
            ),
            (
                "httpdyno load --as hey -- -d '{}' -disable-compression -H 'content-type: a/b' http://a/",
                "httpdyno load http://a/ --body '{}' --header 'content-type: a/b' --connections 50 --requests 200 --timeout 20s --method GET",
            ),
            (
                "httpdyno load --as oha -- -d '{}' --disable-compression -A a/b -t 1s http://a/",
                "httpdyno load http://a/ --body '{}' --header 'Accept: a/b' --timeout 1s --connections 50 --requests 200 --method GET",
            ),
            (
                "httpdyno load --as wrk -- https://a/",
                "httpdyno load https://a/ --connections 10 --duration 10s --timeout 2s --insecure",
            ),
        ] {
            assert_eq!(words(typed), expected, "{typed}");
        }
    }

    #[test]
    fn what_is_left_out_is_noted() {
        let threads = "-t is left out: load has a thread on each CPU; choose them with --cpus";
        let sni = "-I is left out: load names the server in the TLS handshake (SNI)";
        let wrk = "unlike wrk, load names itself httpdyno (User-Agent), gives up a request at its timeout, which wrk only counts";
        let ab = "unlike ab, load speaks HTTP/1.1, not 1.0, names itself httpdyno (User-Agent), does not count answers of another length than the first as failed";
        let hey = "unlike hey, load names itself httpdyno (User-Agent)";
        let redirects = |tool| format!("{tool} follows redirects; load counts them as answers");
        for (typed, expected) in [
            ("wrk -- -t4 http://a/", vec![threads, wrk]),
            ("ab -- -I http://a/", vec![sni, ab]),
            (
                "ab -- -l -H User-Agent:a http://a/",
                vec!["unlike ab, load speaks HTTP/1.1, not 1.0"],
            ),
            ("hey -- http://a/", vec![hey, &redirects("hey")]),
            ("hey -- -U a -disable-redirects http://a/", vec![]),
            (
                "oha -- -H User-Agent:a http://a/",
                vec![
                    "unlike oha, load waits 5 s for an answer, not forever",
                    &redirects("oha"),
                ],
            ),
        ] {
            let translated = translate(&format!("httpdyno load --as {typed}")).unwrap();
            assert_eq!(translated.unwrap().notes, expected, "{typed}");
        }
    }

    #[test]
    fn other_command_lines_stay() {
        for typed in [
            "httpdyno load http://a/",
            "httpdyno room -- cc --as wrk",
            "httpdyno load",
        ] {
            assert_eq!(translate(typed), Ok(None), "{typed}");
        }
    }

    #[test]
    fn a_word_without_a_translation_is_refused() {
        for (typed, expected) in [
            (
                "--as",
                "--as: name the tool; choose from: wrk, hey, oha, ab",
            ),
            (
                "--as siege -- http://a/",
                "--as: \"siege\" is unknown; choose from: wrk, hey, oha, ab",
            ),
            (
                "--as wrk",
                "--as wrk: write the command line of wrk after --: httpdyno load --as wrk -- -c 64 http://localhost:8080/",
            ),
            (
                "--as wrk -- --nothing http://a/",
                "--as wrk: --nothing is not understood; remove it, or use the options of load: httpdyno load -h",
            ),
            (
                "--as wrk -- -s a.lua http://a/",
                "--as wrk: -s: load has no scripts; list the requests in a file, and name it with --requests-file",
            ),
            (
                "--as wrk -- http://a/ -c",
                "--as wrk: -c: its value is missing",
            ),
        ] {
            let typed = format!("httpdyno load {typed}");
            assert_eq!(translate(&typed).unwrap_err(), expected, "{typed}");
        }
    }

    #[test]
    fn the_table_of_each_tool_names_an_option_once() {
        for tool in &TOOLS {
            let names: Vec<&str> = tool
                .options
                .iter()
                .flat_map(|(names, _)| *names)
                .copied()
                .collect();
            for name in &names {
                assert_eq!(
                    names.iter().filter(|other| other == &name).count(),
                    1,
                    "{name}"
                );
            }
        }
    }
}
