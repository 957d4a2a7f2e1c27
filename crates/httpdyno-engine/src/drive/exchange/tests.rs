//! Exchanges over a real connection, with right and wrong answers.

use std::net::{Ipv4Addr, TcpListener};
use std::thread;

use super::*;

/// Limit that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(300);

/// Behaviour of a server after its answer.
#[derive(Debug, Clone, Copy)]
enum Then {
    Closes,
    Stays,
    Drips,
}

/// A server that sends these bytes to its client.
fn server_sending(bytes: &'static [u8], then: Then) -> Server {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let read = stream.read(&mut [0; 4096]).unwrap();
        assert!(read > 0);
        for piece in bytes.chunks(7) {
            stream.write_all(piece).unwrap();
        }
        match then {
            Then::Closes => {}
            // Waits until the client closes the connection.
            Then::Stays => drop(stream.read(&mut [0; 1])),
            Then::Drips => {
                while stream.write_all(b"l").is_ok() {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    });
    Server {
        address,
        authority: "server.test".to_owned(),
    }
}

#[test]
fn answers_are_read_whole_or_refused() {
    let unanswered = |text: &str| Err(Failure::Unanswered(text.to_owned()));
    let hello = || Ok((200, b"hello".to_vec()));
    let cases = [
        (
            &b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"[..],
            hello(),
        ),
        (
            b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            hello(),
        ),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", hello()),
        (
            b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n",
            Ok((400, Vec::new())),
        ),
        (b"", unanswered("closed without an answer")),
        (
            b"HTTP/1.1 200 OK\r\nContent-Le",
            unanswered("closed within the head of its answer"),
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            unanswered("closed before the end of its answer"),
        ),
    ];
    for (bytes, expected) in cases {
        let server = server_sending(bytes, Then::Closes);
        let asked = server.ask(&Call::get("/"), PATIENCE, &|| false);
        let found = asked.map(|answer| (answer.status, answer.content));
        assert_eq!(found, expected, "{}", String::from_utf8_lossy(bytes));
    }
    let garbage = server_sending(b"SSH-2.0-OpenSSH_9.2\r\n", Then::Closes);
    let asked = garbage.ask(&Call::get("/"), PATIENCE, &|| false);
    assert!(matches!(asked, Err(Failure::Malformed(_))), "{asked:?}");
}

#[test]
fn an_exchange_ends_at_its_timeout_or_when_stopped() {
    let begins = b"HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\nhel";
    for then in [Then::Stays, Then::Drips] {
        let server = server_sending(begins, then);
        let asked = server.ask(&Call::get("/"), Duration::from_millis(200), &|| false);
        let expected = Failure::Unanswered("no complete answer within 0.2 s".to_owned());
        assert_eq!(asked, Err(expected), "{then:?}");
        let server = server_sending(begins, then);
        let asked = server.ask(&Call::get("/"), PATIENCE, &|| true);
        assert_eq!(asked, Err(Failure::Stopped), "{then:?}");
    }
}
