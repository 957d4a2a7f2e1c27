//! A server of the contract, with an optional mistake.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use dyno_http::body::Framing;
use dyno_http::{Limits, Parse, request};
use dyno_web::{JSON_DOCUMENT, PLAIN_DOCUMENT, WRONG_DOCUMENT};
use serde_json::{Value, json};

const WAITS_MS: [u64; 2] = [40, 80];
/// Number of requests for work before two are sent at once.
const ALONE: usize = 1;

/// Returns an unused file name.
pub fn scratch() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("httpdyno-drive-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    drop(std::fs::remove_file(&path));
    path
}

/// The mistake of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    Nothing,
    /// `/json` has another number.
    WrongNumber,
    /// Another number once this many requests have been answered.
    WrongNumberFrom(u32),
    /// Answers with the text of the latest request, after waiting for another one.
    MixesTexts,
    /// Accepts malformed requests.
    AcceptsAnything,
    /// Performs the waits one after another.
    WaitsInTurn,
    /// Does not wait.
    NeverWaits,
    /// Stops listening once this many requests have been answered.
    DiesAfter(u32),
    /// Does not answer with HTTP.
    Babbles,
}

#[derive(Debug)]
pub struct Stage {
    mistake: Mistake,
    answered: AtomicU32,
    texts: Mutex<Vec<String>>,
    came: Condvar,
    /// Number of requests that are enough, and the file to create then.
    enough: Option<(u32, PathBuf)>,
}

impl Stage {
    /// Starts a server; returns its URL.
    pub fn open(mistake: Mistake) -> String {
        Self::serve_as(mistake, None)
    }

    /// Like [`Stage::open`]; creates a file when enough requests have been answered, or two have been refused.
    pub fn open_for(mistake: Mistake, enough: u32, file: &Path) -> String {
        Self::serve_as(mistake, Some((enough, file.to_owned())))
    }

    fn serve_as(mistake: Mistake, enough: Option<(u32, PathBuf)>) -> String {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stage = Arc::new(Self {
            mistake,
            answered: AtomicU32::new(0),
            texts: Mutex::default(),
            came: Condvar::new(),
            enough,
        });
        thread::spawn(move || {
            let mut refused = 0;
            while refused < 2 {
                let (stream, _) = listener.accept().unwrap();
                let stage = stage.clone();
                if stage.is_dead() {
                    refused += 1;
                } else {
                    thread::spawn(move || stage.serve(stream));
                }
            }
            drop(listener);
            // The second refusal implies that the watch has recorded the first one.
            stage.create_file();
        });
        url
    }

    fn create_file(&self) {
        if let Some((_, file)) = &self.enough {
            std::fs::write(file, "").unwrap();
        }
    }

    fn is_dead(&self) -> bool {
        matches!(self.mistake, Mistake::DiesAfter(most) if self.answered.load(Ordering::SeqCst) >= most)
    }

    fn serve(&self, mut stream: TcpStream) {
        let (path, content) = read(&mut stream);
        let (status, answer) = match path.as_str() {
            "/plain" => (200, PLAIN_DOCUMENT.to_owned()),
            "/json" => (200, self.document().to_owned()),
            _ => self.work(&content),
        };
        let length = answer.len();
        let answered = self.answered.fetch_add(1, Ordering::SeqCst) + 1;
        let message = if self.mistake == Mistake::Babbles {
            "SSH-2.0-OpenSSH_9.2\r\n".to_owned()
        } else {
            format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n\r\n{answer}")
        };
        // The client may have closed the connection.
        drop(stream.write_all(message.as_bytes()));
        if matches!(self.enough, Some((enough, _)) if answered == enough) {
            self.create_file();
        }
    }

    fn document(&self) -> &'static str {
        let answered = self.answered.load(Ordering::SeqCst);
        match self.mistake {
            Mistake::WrongNumber => &WRONG_DOCUMENT,
            Mistake::WrongNumberFrom(first) if answered >= first => &WRONG_DOCUMENT,
            _ => &JSON_DOCUMENT,
        }
    }

    fn work(&self, content: &[u8]) -> (u16, String) {
        let asked: Value = serde_json::from_slice(content).unwrap_or_default();
        let (mut text, mut count) = (asked["text"].as_str(), asked["count"].as_u64());
        if self.mistake == Mistake::AcceptsAnything {
            (text, count) = (text.or(Some("a")), count.or(Some(1)));
        }
        let (Some(text), Some(count @ 1..)) = (text, count) else {
            return (400, "no".to_owned());
        };
        let mut texts = self.texts.lock().unwrap();
        texts.push(text.to_owned());
        self.came.notify_all();
        drop(texts);
        let waits = match self.mistake {
            Mistake::WaitsInTurn => count * WAITS_MS.iter().sum::<u64>() + 1_000,
            Mistake::NeverWaits => 0,
            _ => *WAITS_MS.iter().max().unwrap(),
        };
        thread::sleep(Duration::from_millis(waits));
        let text = if self.mistake == Mistake::MixesTexts {
            self.last_text()
        } else {
            text.to_owned()
        };
        let number = usize::try_from(count).unwrap() * WAITS_MS.len();
        (200, json!({"texts": vec![text; number]}).to_string())
    }

    /// The text of the latest request, which is wrong for one of two requests at once.
    fn last_text(&self) -> String {
        let texts = self.texts.lock().unwrap();
        let alone = |texts: &mut Vec<String>| texts.len() == ALONE + 1;
        let texts = self.came.wait_while(texts, alone).unwrap();
        texts.last().unwrap().clone()
    }
}

/// Path and content of a request.
fn read(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut received, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut piece).unwrap_or(0);
        received.extend_from_slice(&piece[..count]);
        if let Parse::Complete { head, bytes } =
            request::parse(&received, &Limits::default()).unwrap()
        {
            let length = match head.framing {
                Framing::Length(length) => usize::try_from(length).unwrap(),
                _ => 0,
            };
            if received.len() >= bytes + length || count == 0 {
                let path = head.target.path().to_owned();
                return (path, received[bytes..].to_vec());
            }
        }
        if count == 0 {
            return (String::new(), Vec::new());
        }
    }
}
