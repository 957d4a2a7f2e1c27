//! An origin with a small web, and clients that see every byte.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_http::{Limits, Method, Parse, body, response};
use dyno_origin::{Authority, Cache, Options, Origin, Record, Running, Snapshot};
use dyno_web::{Model, Web};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// How long a test waits for an expected event: a limit that only a hang exceeds.
pub const PATIENCE: Duration = Duration::from_secs(300);
/// How long a test waits for an event that must not occur: a slow origin can only hide it.
pub const SILENCE: Duration = Duration::from_millis(150);

pub struct Stage {
    pub web: Arc<Web>,
    pub authority: Arc<Authority>,
    running: Running,
}

/// The parts of an answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    pub status: u16,
    pub fields: Vec<(String, String)>,
    pub content: Vec<u8>,
}

/// A cache that the tests share.
pub fn cache() -> Cache {
    Cache::at(env!("CARGO_TARGET_TMPDIR").into())
}

impl Stage {
    /// Plays an empty model with `hosts` added.
    pub fn new(hosts: &str) -> Self {
        Self::at(hosts, Ipv4Addr::LOCALHOST.into(), 1)
    }

    pub fn at(hosts: &str, address: IpAddr, threads: usize) -> Self {
        let model = Model::from_toml(&format!("name = 'test'\nseed = 1\n{hosts}")).unwrap();
        let web = Arc::new(Web::new(model, None));
        let authority = Arc::new(Authority::new().unwrap());
        let any = SocketAddr::new(address, 0);
        let running = Origin::start(Options {
            http: vec![any],
            https: vec![any],
            dns: vec![any],
            cpus: vec![cpu(); threads],
            log_arrivals: true,
            cache: cache(),
            ..Options::new(web.clone(), authority.clone())
        });
        Self {
            web,
            authority,
            running: running.unwrap(),
        }
    }

    pub fn http(&self) -> SocketAddr {
        self.running.http()[0]
    }

    pub fn https(&self) -> SocketAddr {
        self.running.https()[0]
    }

    pub fn dns(&self) -> SocketAddr {
        self.running.dns()[0]
    }

    pub fn running(&self) -> &Running {
        &self.running
    }

    /// Returns the counts once `answers` requests are answered: a client has the last byte before the origin has
    /// counted the answer.
    pub fn settled(&self, answers: u64) -> Snapshot {
        let patience = Instant::now();
        loop {
            let snapshot = self.running().snapshot();
            if snapshot.answers >= answers || patience.elapsed() > PATIENCE {
                return snapshot;
            }
            std::thread::yield_now();
        }
    }

    pub fn stop(self) -> Record {
        self.running.stop()
    }

    pub fn connect(&self) -> TcpStream {
        connect(self.http())
    }

    /// Sends bytes on a new connection; returns all bytes until the origin closes.
    pub fn send(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    }

    /// The answer to a GET over plain HTTP with additional `fields`.
    pub fn get(&self, host: &str, target: &str, fields: &str) -> Reply {
        reply(
            &mut BufReader::new(self.ask(host, target, fields)),
            Method::Get,
        )
    }

    /// A connection on which a GET was sent.
    pub fn ask(&self, host: &str, target: &str, fields: &str) -> TcpStream {
        let mut stream = self.connect();
        stream
            .write_all(&request("GET", host, target, fields))
            .unwrap();
        stream
    }

    /// A TLS client that trusts the room's authority.
    pub fn client(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Arc<ClientConfig> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from(self.authority.der().to_vec()))
            .unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap();
        Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
    }

    /// A TLS connection to `host`, before the handshake.
    pub fn secure(
        &self,
        host: &str,
        config: &Arc<ClientConfig>,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let name = ServerName::try_from(host.to_owned()).unwrap();
        let session = ClientConnection::new(config.clone(), name).unwrap();
        StreamOwned::new(session, connect(self.https()))
    }
}

/// A CPU that this process may use.
pub fn cpu() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .unwrap()
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

pub fn request(method: &str, host: &str, target: &str, fields: &str) -> Vec<u8> {
    format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n").into_bytes()
}

/// Whether no bytes arrive and the connection stays open.
pub fn is_silent(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let silent =
        matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    silent
}

/// Reads one answer byte by byte, so that nothing of the next one is read; use a buffered stream for a long answer.
pub fn reply(stream: &mut impl Read, method: Method<'_>) -> Reply {
    let mut bytes = Vec::new();
    let (status, fields, framing) = loop {
        let mut byte = [0];
        assert_eq!(
            stream.read(&mut byte).unwrap(),
            1,
            "the head ends early: {}",
            String::from_utf8_lossy(&bytes)
        );
        bytes.push(byte[0]);
        if let Parse::Complete { head, .. } = response::parse(&bytes, &Limits::default()).unwrap() {
            let fields = head.fields.iter();
            let fields = fields.map(|field| {
                (
                    field.name.to_lowercase(),
                    String::from_utf8_lossy(field.value).into_owned(),
                )
            });
            break (head.status, fields.collect(), head.framing(method));
        }
    };
    let mut decoder = body::Decoder::new(framing, &Limits::default());
    let mut content = Vec::new();
    while !decoder.is_done() {
        let mut byte = [0];
        if stream.read(&mut byte).unwrap() == 0 {
            assert_eq!(framing, body::Framing::UntilClose, "the content ends early");
            break;
        }
        let step = decoder.decode(&byte).unwrap();
        content.extend_from_slice(&byte[step.content]);
    }
    Reply {
        status,
        fields,
        content,
    }
}

impl Reply {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// The content, decoded according to `Content-Encoding`.
    pub fn decoded(&self) -> Vec<u8> {
        let coded = &self.content[..];
        let mut decoded = Vec::new();
        match self.field("content-encoding") {
            None => decoded.extend_from_slice(coded),
            Some("gzip") => drop(
                flate2::read::GzDecoder::new(coded)
                    .read_to_end(&mut decoded)
                    .unwrap(),
            ),
            Some("br") => brotli::BrotliDecompress(&mut &coded[..], &mut decoded).unwrap(),
            Some("zstd") => zstd::stream::copy_decode(coded, &mut decoded).unwrap(),
            Some(other) => panic!("coding {other}"),
        }
        decoded
    }
}
