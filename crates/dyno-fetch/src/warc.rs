//! Archives exchanges in WARC files: keeps the bytes of an answer while it arrives; a thread writes the records.
//!
//! Each start begins a new file, `PREFIX-NNNNN.warc.gz`. While a file is written, its name ends in `.open`; a later
//! start removes the torn record that a killed run left in it.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::SystemTime;

use aws_lc_rs::digest::{self, SHA1_FOR_LEGACY_USE_ONLY as SHA1};
use data_encoding::BASE32;
use dyno_client::{AnswerHead, Exchanged, Failure};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::options::Options;
use crate::row::Timestamp;
use crate::warc_record::{Head, Records, whole, without_credentials};

/// Content of one answer that is kept in memory; more goes to a temporary file.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// Content of all answers that is kept in memory.
const MAX_ALL_KEPT_BYTES: u64 = 64 << 20;
/// Records that are collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;
/// Least payload for which a repetition is recorded without its content: a shorter one is about as long as the record.
const LEAST_REPEATED_BYTES: u64 = 2 << 10;
/// Memory for the digests, URLs and records of earlier payloads.
const MAX_SEEN_BYTES: usize = 16 << 20;
/// Memory of an earlier payload without its URL.
const SEEN_BYTES: usize = 128;
/// Media types of records.
const REQUEST: &str = "application/http; msgtype=request";
const RESPONSE: &str = "application/http; msgtype=response";
/// Profile of a record that refers to an earlier one (WARC 1.1, 6.7.2).
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// Why exchanges cannot be archived.
#[derive(Debug, Error)]
pub enum Error {
    /// A file cannot be read or written.
    #[error("--warc {path}: {error}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The folder of the files does not exist.
    #[error("--warc {path}: {folder} is not a folder; create it, or name another")]
    NoFolder {
        /// Path as given.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
    },
    /// The path names no file.
    #[error("--warc {path}: this is no file name; write a name such as crawl.warc.gz")]
    NoName {
        /// Path as given.
        path: PathBuf,
    },
}

impl Error {
    /// Whether the command line named a wrong file.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The names of the files of an archive.
#[derive(Debug, Clone)]
struct Names {
    folder: PathBuf,
    prefix: String,
    is_compressed: bool,
}

impl Names {
    fn of(path: &Path) -> Option<Self> {
        let text = path.to_str()?;
        let name = path.file_name()?.to_str()?;
        if text.ends_with('/') || path.is_dir() {
            return None;
        }
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let is_compressed = path.extension() != Some("warc".as_ref());
        let bare = name.strip_suffix(".gz").unwrap_or(name);
        let prefix = bare.strip_suffix(".warc").unwrap_or(bare);
        (!prefix.is_empty()).then(|| Self {
            folder: parent.unwrap_or(Path::new(".")).to_owned(),
            prefix: prefix.to_owned(),
            is_compressed,
        })
    }

    /// Name of a file once it is complete.
    fn complete(&self, number: u64) -> String {
        let ending = if self.is_compressed { ".gz" } else { "" };
        format!("{}-{number:05}.warc{ending}", self.prefix)
    }

    fn open(&self, number: u64) -> PathBuf {
        self.folder.join(self.complete(number) + ".open")
    }

    /// The numbers of the files in the folder, and whether they are complete. Compressed or not, none is used twice.
    fn numbers(&self) -> io::Result<Vec<(u64, bool)>> {
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            let Some(rest) = name
                .to_str()
                .and_then(|name| name.strip_prefix(&self.prefix)?.strip_prefix('-'))
            else {
                continue;
            };
            let Some((number, ending)) = rest.split_once(".warc") else {
                continue;
            };
            let is_complete = match ending {
                "" | ".gz" => true,
                ".open" | ".gz.open" => false,
                _ => continue,
            };
            if let Ok(number) = number.parse() {
                numbers.push((number, is_complete));
            }
        }
        Ok(numbers)
    }

    /// Completes the file of a run that was killed: removes the record that it was writing. A file that another
    /// process writes, or that is not an archive, is left as it is.
    fn repair(&self, number: u64) -> io::Result<()> {
        let path = self.open(number);
        let file = match OpenOptions::new().read(true).write(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file?,
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Ok(());
        }
        let (bytes, records) = whole(
            BufReader::with_capacity(BUFFER_BYTES, &file),
            self.is_compressed,
        )?;
        let is_ours = bytes > 0 || file.metadata()?.len() == 0;
        if is_ours {
            file.set_len(bytes)?;
            self.publish(number, records)?;
        }
        Ok(())
    }

    /// Gives a file its final name; removes it if it has only the record that describes the crawl.
    fn publish(&self, number: u64, records: u64) -> io::Result<()> {
        if records > 1 {
            fs::rename(self.open(number), self.folder.join(self.complete(number)))
        } else {
            fs::remove_file(self.open(number))
        }
    }
}

/// The archive of a crawl, as the thread of the network uses it.
pub(crate) struct Warc {
    names: Names,
    path: PathBuf,
    jobs: Cell<Option<Sender<Job>>>,
    thread: Cell<Option<JoinHandle<Result<(), Error>>>>,
    /// Exchanges whose URL ran out of time.
    cut_short: RefCell<Vec<Exchange>>,
    /// Bytes of answers in memory, of both threads.
    kept: Arc<AtomicU64>,
    temporary_files: Cell<u64>,
}

/// Work for the thread that writes.
enum Job {
    Write(Box<Exchange>),
    /// Answer when everything before is written.
    Confirm(oneshot::Sender<Result<(), Error>>),
}

impl Warc {
    /// Begins a new file, after the files of killed runs are repaired.
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self, Error> {
        let names = Names::of(path).ok_or_else(|| Error::NoName {
            path: path.to_owned(),
        })?;
        if !names.folder.is_dir() {
            return Err(Error::NoFolder {
                path: path.to_owned(),
                folder: names.folder,
            });
        }
        let kept = Arc::<AtomicU64>::default();
        let mut writer = Writer {
            names: names.clone(),
            path: path.to_owned(),
            most_bytes: options.warc_size,
            description: description(options, &names.prefix),
            file: None,
            next: 0,
            seen: Seen::default(),
            kept: Arc::clone(&kept),
        };
        writer.start().map_err(|error| writer.failed(&error))?;
        let (jobs, queue) = channel();
        let thread = thread::Builder::new()
            .name("warc".to_owned())
            .spawn(move || writer.run(&queue))
            .map_err(|error| Error::Io {
                path: path.to_owned(),
                error,
            })?;
        Ok(Self {
            names,
            path: path.to_owned(),
            jobs: Cell::new(Some(jobs)),
            thread: Cell::new(Some(thread)),
            cut_short: RefCell::default(),
            kept,
            temporary_files: Cell::new(0),
        })
    }

    /// Opens the folder, whose disk has the files.
    ///
    /// # Errors
    ///
    /// If no more files can be opened.
    pub(crate) fn on_disk(&self) -> Result<OwnedFd, Error> {
        let folder = File::open(&self.names.folder);
        Ok(folder.map_err(|error| self.failed(error))?.into())
    }

    /// Begins to keep an exchange. `request` is its head as sent; `address` is the server's, if it is known.
    pub(crate) fn begin(
        &self,
        request: &[u8],
        url: String,
        address: Option<IpAddr>,
    ) -> Capture<'_> {
        Capture {
            warc: self,
            exchange: Some(Box::new(Exchange {
                url,
                address,
                begun: SystemTime::now(),
                request: without_credentials(request),
                is_http2: false,
                head: Vec::new(),
                content: Vec::new(),
                more: None,
                length: 0,
                payload: digest::Context::new(&SHA1),
                payload_bytes: 0,
                truncated: None,
            })),
        }
    }

    /// Waits until all exchanges that have ended are written.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub(crate) async fn written(&self) -> Result<(), Error> {
        for exchange in self.cut_short.take() {
            self.send(Job::Write(Box::new(exchange)));
        }
        let (confirm, confirmed) = oneshot::channel();
        self.send(Job::Confirm(confirm));
        confirmed
            .await
            .unwrap_or_else(|_| Err(self.failed(io::ErrorKind::Other.into())))
    }

    /// Completes the last file.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(crate) fn close(&self) -> Result<(), Error> {
        drop(self.jobs.take());
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(ended) => ended.unwrap_or_else(|_| Err(self.failed(io::ErrorKind::Other.into()))),
        }
    }

    fn send(&self, job: Job) {
        let jobs = self.jobs.take();
        if let Some(jobs) = &jobs {
            // The thread ends after this end of the queue.
            drop(jobs.send(job));
        }
        self.jobs.set(jobs);
    }

    /// A file without a name in the folder of the archive, which vanishes when it is closed.
    fn temporary_file(&self) -> io::Result<File> {
        let number = self.temporary_files.get();
        self.temporary_files.set(number + 1);
        let name = format!(
            ".{}-{}-{number}.part",
            self.names.prefix,
            std::process::id()
        );
        let path = self.names.folder.join(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }

    /// Converts an error of the system into an error of this archive.
    pub(crate) fn failed(&self, error: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            error,
        }
    }
}

impl Drop for Warc {
    fn drop(&mut self) {
        // The error that ended the crawl is reported.
        drop(self.close());
    }
}

/// An exchange whose answer is arriving. If it is dropped before its end, its URL ran out of time.
pub(crate) struct Capture<'w> {
    warc: &'w Warc,
    exchange: Option<Box<Exchange>>,
}

/// A request and its answer.
struct Exchange {
    url: String,
    address: Option<IpAddr>,
    begun: SystemTime,
    request: Vec<u8>,
    is_http2: bool,
    /// The head of the answer; empty before it has arrived.
    head: Vec<u8>,
    /// The rest of the answer, as transferred, or what follows in `more`.
    content: Vec<u8>,
    more: Option<File>,
    /// Length of the rest.
    length: u64,
    /// Digest of the content without transfer coding.
    payload: digest::Context,
    payload_bytes: u64,
    truncated: Option<&'static str>,
}

impl Capture<'_> {
    /// Keeps the next bytes of the answer as they arrived; the first piece is the head.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(exchange) = &mut self.exchange else {
            return Ok(());
        };
        if exchange.head.is_empty() {
            exchange.head.extend_from_slice(bytes);
            return Ok(());
        }
        exchange.length += bytes.len() as u64;
        let kept = &self.warc.kept;
        let is_too_much = exchange.content.len() + bytes.len() > MAX_KEPT_BYTES
            || kept.load(Ordering::Relaxed) + bytes.len() as u64 > MAX_ALL_KEPT_BYTES;
        if exchange.more.is_none() && !is_too_much {
            exchange.content.extend_from_slice(bytes);
            kept.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            return Ok(());
        }
        let mut spool = || -> io::Result<()> {
            let file = match &mut exchange.more {
                Some(file) => file,
                none => none.insert(self.warc.temporary_file()?),
            };
            file.write_all(&exchange.content)?;
            file.write_all(bytes)
        };
        spool().map_err(|error| self.warc.failed(error))?;
        kept.fetch_sub(exchange.content.len() as u64, Ordering::Relaxed);
        exchange.content = Vec::new();
        Ok(())
    }

    /// Adds a piece of content without transfer coding.
    pub(crate) fn payload(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Some(exchange) = &mut self.exchange else {
            return Ok(());
        };
        exchange.payload.update(bytes);
        exchange.payload_bytes += bytes.len() as u64;
        if exchange.is_http2 {
            self.take(bytes)
        } else {
            Ok(())
        }
    }

    /// Keeps the head of an answer over HTTP/2, in the form of HTTP/1.1.
    pub(crate) fn http2_head(&mut self, head: &AnswerHead<'_>) -> Result<(), Error> {
        if let Some(exchange) = &mut self.exchange {
            exchange.is_http2 = true;
        }
        self.take(&head.in_http1())
    }

    /// Passes the exchange to the thread that writes; `unread`: why the rest of a good answer was not read. Without the head of an answer there is nothing to write.
    pub(crate) fn end(mut self, ended: &Result<Exchanged, Failure>, unread: Option<Failure>) {
        let Some(mut exchange) = self.exchange.take() else {
            return;
        };
        exchange.truncated = match ended {
            Ok(_) => unread.map(truncation),
            Err(failure) => Some(truncation(*failure)),
        };
        if !exchange.head.is_empty() {
            self.warc.send(Job::Write(exchange));
        }
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if let Some(mut exchange) = self.exchange.take()
            && !exchange.head.is_empty()
        {
            exchange.truncated = Some("time");
            self.warc.cut_short.borrow_mut().push(*exchange);
        }
    }
}

/// Why the rest of an answer is missing, in the words of `WARC-Truncated`.
const fn truncation(failure: Failure) -> &'static str {
    match failure {
        Failure::ContentTooLong => "length",
        Failure::BodyTimeout => "time",
        Failure::BodyCutShort
        | Failure::ConnectionReset
        | Failure::ClosedBeforeAnswer
        | Failure::StreamReset
        | Failure::StreamRefused
        | Failure::GoAway
        | Failure::Io(_) => "disconnect",
        _ => "unspecified",
    }
}

/// The block of the record that describes the crawl.
fn description(options: &Options, name: &str) -> String {
    let Options {
        http,
        timeout,
        concurrency,
        max_redirects,
        max_content,
        retries,
        ..
    } = options;
    let robots = if options.robots { "obey" } else { "ignore" };
    format!(
        "software: httpdyno/{}\r\nformat: WARC File Format 1.1\r\n\
         conformsTo: https://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/\r\n\
         isPartOf: {name}\r\nrobots: {robots}\r\nhttp-header-user-agent: {}\r\n\
         options: http={http:?} timeout={timeout:?} concurrency={concurrency} max_redirects={max_redirects} \
         max_content={max_content} retries={retries}\r\n",
        env!("CARGO_PKG_VERSION"),
        options.user_agent,
    )
}

/// Earlier payloads, the latest that fit into the memory.
#[derive(Debug, Default)]
struct Seen {
    payloads: HashMap<[u8; 20], Earlier>,
    order: VecDeque<[u8; 20]>,
    bytes: usize,
}

/// The record of an earlier payload.
#[derive(Debug)]
struct Earlier {
    id: String,
    url: String,
    begun: SystemTime,
}

impl Seen {
    fn add(&mut self, digest: [u8; 20], earlier: Earlier) {
        self.bytes += SEEN_BYTES + earlier.url.len();
        self.payloads.insert(digest, earlier);
        self.order.push_back(digest);
        while self.bytes > MAX_SEEN_BYTES
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.payloads.remove(&oldest);
            self.bytes -= SEEN_BYTES + gone.map_or(0, |gone| gone.url.len());
        }
    }
}

/// The thread that writes.
struct Writer {
    names: Names,
    path: PathBuf,
    most_bytes: u64,
    description: String,
    file: Option<OpenFile>,
    next: u64,
    seen: Seen,
    kept: Arc<AtomicU64>,
}

/// The file that is written.
struct OpenFile {
    number: u64,
    records: Records<Buffered>,
    count: u64,
    /// Identifies the record that describes the crawl.
    description_id: String,
}

/// Bytes on their way to a file.
struct Buffered {
    file: File,
    waiting: Vec<u8>,
    bytes: u64,
}

impl Write for Buffered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.waiting.extend_from_slice(bytes);
        self.bytes += bytes.len() as u64;
        if self.waiting.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }
}

impl Writer {
    /// Repairs the files of killed runs, and begins the first file.
    fn start(&mut self) -> io::Result<()> {
        for (number, is_complete) in self.names.numbers()? {
            self.next = self.next.max(number + 1);
            if !is_complete {
                self.names.repair(number)?;
            }
        }
        self.begin_file()
    }

    /// Writes until the other end of the queue is closed.
    fn run(mut self, queue: &Receiver<Job>) -> Result<(), Error> {
        let mut waiting = Vec::new();
        let mut failure: Option<io::Error> = None;
        while let Ok(job) = queue.recv() {
            let mut next = Some(job);
            while let Some(job) = next {
                match job {
                    Job::Confirm(confirm) => waiting.push(confirm),
                    Job::Write(exchange) => {
                        let kept = exchange.content.len() as u64;
                        if failure.is_none() {
                            failure = self.exchange(*exchange).err();
                        }
                        self.kept.fetch_sub(kept, Ordering::Relaxed);
                    }
                }
                next = queue.try_recv().ok();
            }
            if failure.is_none() {
                failure = self.flush().err();
            }
            for confirm in waiting.drain(..) {
                let result = failure
                    .as_ref()
                    .map_or(Ok(()), |error| Err(self.failed(error)));
                // A URL that has ended by a signal does not wait.
                drop(confirm.send(result));
            }
        }
        let ended = match failure {
            None => self.end_file(),
            Some(_) => self.abandon_file(),
        };
        ended.map_err(|error| self.failed(&error))
    }

    fn begin_file(&mut self) -> io::Result<()> {
        let (number, file) = loop {
            let number = self.next;
            self.next += 1;
            let new = OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(self.names.open(number));
            match new {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => break (number, file?),
            }
        };
        // A file system without locks cannot protect the file from a second run.
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok();
        let buffered = Buffered {
            file,
            waiting: Vec::new(),
            bytes: 0,
        };
        let mut records = Records::new(buffered, self.names.is_compressed);
        let id = record_id()?;
        let mut head = Head::new("warcinfo");
        head.field("WARC-Record-ID", &id)
            .field("WARC-Date", Timestamp(SystemTime::now()))
            .field("WARC-Filename", self.names.complete(number))
            .field("WARC-Block-Digest", sha1(self.description.as_bytes())?)
            .field("Content-Type", "application/warc-fields");
        records.write(
            head,
            self.description.len() as u64,
            self.description.as_bytes(),
        )?;
        self.file = Some(OpenFile {
            number,
            records,
            count: 1,
            description_id: id,
        });
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file
            .as_mut()
            .map_or(Ok(()), |file| file.records.out.flush())
    }

    fn end_file(&mut self) -> io::Result<()> {
        self.flush()?;
        match self.file.take() {
            None => Ok(()),
            Some(file) => self.names.publish(file.number, file.count),
        }
    }

    /// Completes a file that could not be written to its end, such as on a full disk.
    fn abandon_file(&mut self) -> io::Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let number = file.number;
        // Closed, so that it is not locked.
        drop(file);
        self.names.repair(number)
    }

    /// Writes the records of an exchange: the answer first, because the request of a lost answer has no use.
    fn exchange(&mut self, mut exchange: Exchange) -> io::Result<()> {
        if self
            .file
            .as_ref()
            .is_none_or(|file| file.records.out.bytes >= self.most_bytes)
        {
            self.end_file()?;
            self.begin_file()?;
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let (request_id, response_id) = (record_id()?, record_id()?);
        let payload: Option<[u8; 20]> = match exchange.truncated {
            None => exchange.payload.clone().finish().as_ref().try_into().ok(),
            Some(_) => None,
        };
        let repeated = payload.filter(|_| exchange.payload_bytes >= LEAST_REPEATED_BYTES);
        let earlier = repeated.and_then(|digest| self.seen.payloads.get(&digest));
        let is_revisit = earlier.is_some();
        let mut head = exchange.head_of(
            if is_revisit { "revisit" } else { "response" },
            &response_id,
            &request_id,
            &file.description_id,
        );
        if let Some(digest) = payload {
            head.field(
                "WARC-Payload-Digest",
                format_args!("sha1:{}", BASE32.encode(&digest)),
            );
        }
        if let Some(earlier) = earlier {
            head.field("WARC-Profile", SAME_PAYLOAD)
                .field("WARC-Refers-To", &earlier.id)
                .field("WARC-Refers-To-Target-URI", &earlier.url)
                .field("WARC-Refers-To-Date", Timestamp(earlier.begun))
                // The standard requires it for a block without its payload.
                .field("WARC-Truncated", "length");
        } else if let Some(reason) = exchange.truncated {
            head.field("WARC-Truncated", reason);
        }
        let length = exchange.head.len() as u64 + if is_revisit { 0 } else { exchange.length };
        head.field("WARC-Block-Digest", sha1(exchange.answer()?.take(length))?)
            .field("Content-Type", RESPONSE);
        file.records.write(head, length, exchange.answer()?)?;
        let mut head = exchange.head_of("request", &request_id, &response_id, &file.description_id);
        head.field("WARC-Block-Digest", sha1(&exchange.request[..])?)
            .field("Content-Type", REQUEST);
        file.records
            .write(head, exchange.request.len() as u64, &exchange.request[..])?;
        file.count += 2;
        if let (Some(digest), false) = (repeated, is_revisit) {
            let Exchange { url, begun, .. } = exchange;
            self.seen.add(
                digest,
                Earlier {
                    id: response_id,
                    url,
                    begun,
                },
            );
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Error {
        let number = error.raw_os_error();
        Error::Io {
            path: self.path.clone(),
            error: number.map_or_else(|| error.kind().into(), io::Error::from_raw_os_error),
        }
    }
}

impl Exchange {
    /// The answer from its first byte.
    fn answer(&mut self) -> io::Result<impl Read> {
        if let Some(file) = &mut self.more {
            file.seek(SeekFrom::Start(0))?;
        }
        let more: Box<dyn Read + '_> = match &self.more {
            Some(file) => Box::new(file),
            None => Box::new(io::empty()),
        };
        Ok((&self.head[..]).chain(&self.content[..]).chain(more))
    }

    /// The fields that request and answer share.
    fn head_of(&self, kind: &str, id: &str, other_id: &str, description_id: &str) -> Head {
        let mut head = Head::new(kind);
        head.field("WARC-Record-ID", id)
            .field("WARC-Date", Timestamp(self.begun))
            .field("WARC-Target-URI", &self.url)
            .field("WARC-Concurrent-To", other_id)
            .field("WARC-Warcinfo-ID", description_id);
        if let Some(address) = self.address {
            head.field("WARC-IP-Address", address);
        }
        head.field(
            "WARC-Protocol",
            if self.is_http2 { "h2" } else { "http/1.1" },
        );
        head
    }
}

/// A new identifier of a record: a random UUID (RFC 9562, 5.4).
fn record_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    // Up to 256 bytes come at once.
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let number =
        u128::from_be_bytes(bytes) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let text = format!("{number:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &text[part]);
    Ok(format!("<urn:uuid:{}>", parts.join("-")))
}

/// The digest of all bytes, as a field's value.
fn sha1(mut bytes: impl Read) -> io::Result<String> {
    let (mut digest, mut room) = (digest::Context::new(&SHA1), [0; 8 << 10]);
    loop {
        match bytes.read(&mut room)? {
            0 => return Ok(format!("sha1:{}", BASE32.encode(digest.finish().as_ref()))),
            read => digest.update(&room[..read]),
        }
    }
}
