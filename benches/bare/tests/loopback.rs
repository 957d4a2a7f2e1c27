//! Each loop of the client against each kind of server: whatever is asked is answered, and counted by both.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

const BARE: &str = env!("CARGO_BIN_EXE_bare");

fn serve(options: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut server = Command::new(BARE)
        .args(["server", "127.0.0.1:0"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(server.stdout.take().unwrap());
    let mut address = String::new();
    output.read_line(&mut address).unwrap();
    (server, output, address.trim().to_owned())
}

/// The first number of a line of JSON.
fn count(report: &str) -> u64 {
    let digits = report.split([' ', ',']).nth(1).unwrap();
    digits.parse().unwrap()
}

#[test]
fn each_loop_is_answered_by_each_server() {
    let servers: [&[&str]; 3] = [
        &["--work"],
        &["--content-bytes", "16384"],
        &["--content-bytes", "16384", "--sendfile"],
    ];
    let clients: [&[&str]; 4] = [
        &["--loop", "epoll"],
        &["--loop", "epoll", "--rest-us", "20"],
        &["--loop", "uring"],
        &["--loop", "uring", "--wait-for", "8", "--wait-us", "50"],
    ];
    for options in servers {
        let (mut server, mut output, address) = serve(options);
        let (mut asked, mut open) = (0, 0);
        for client in clients {
            let ended = Command::new(BARE)
                .args(["client", &address, "--seconds", "0.2", "--connections", "8"])
                .args(client)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&ended.stderr);
            if errors.contains("os error 1)") || errors.contains("os error 38)") {
                println!("skipped: no io_uring here: {errors}");
                continue;
            }
            assert!(ended.status.success(), "{client:?}: {errors}");
            let requests = count(&String::from_utf8(ended.stdout).unwrap());
            assert!(requests > 0, "{client:?}");
            asked += requests;
            // One more measures the length, and each connection may have one open at the end.
            open += 1 + 8;
        }
        drop(server.stdin.take());
        let mut report = String::new();
        output.read_to_string(&mut report).unwrap();
        assert!(server.wait().unwrap().success());
        let answers = count(&report);
        assert!(
            (asked..=asked + open).contains(&answers),
            "{options:?}: {answers} of {asked}"
        );
    }
}
