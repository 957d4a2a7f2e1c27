//! The summary that `httpdyno room` prints on standard error when the command has ended.

use std::collections::BTreeMap;
use std::time::Duration;

use dyno_origin::{OriginReport, Record};
use dyno_room::{Ending, Outcome, PEER_V4};
use dyno_web::Fault;

use crate::messages::{is_public_command, print_message};

/// Maximum number of names in a list; further ones are counted.
const LISTED: usize = 5;

/// Prints the traffic and CPU time of a command in one line. Before it, prints whether the deadline ended the command,
/// and which planned faults a failed command met.
///
/// `web` is the web's name and the record of its origin. Prints nothing if a program started the engine, because that
/// program reads the report.
pub fn print(ending: &Ending, deadline: Option<Duration>, web: Option<(&str, &Record)>) {
    if !is_public_command() || ending.subject.started_at_ns.is_none() {
        return;
    }
    if let (Outcome::Deadline, Some(deadline)) = (ending.outcome, deadline) {
        print_message(format_args!(
            "room: --deadline: the command was still running after {} s and was ended",
            deadline.as_secs_f64()
        ));
    }
    if let Some((name, record)) = web.filter(|_| ending.exit_status() != 0)
        && let Some(line) = planned_faults_line(name, &record.faulty_names)
    {
        print_message(line);
    }
    refusals(ending, web.map(|(_, record)| record))
        .iter()
        .for_each(print_message);
    print_message(summary_line(ending, web.map(|(_, record)| &record.report)));
}

/// Lines that explain failures which the command may report as something else.
fn refusals(ending: &Ending, record: Option<&Record>) -> Vec<String> {
    let subject = &ending.subject;
    let mut lines = Vec::new();
    if subject.out_of_memory {
        let limit = subject
            .memory_limit_bytes
            .map_or_else(String::new, |bytes| {
                format!(" at the limit of {} MiB", bytes >> 20)
            });
        lines.push(format!(
            "room: out of memory: the kernel killed a process of the command{limit}"
        ));
    }
    if let Some(asked) = subject.without_route.filter(|asked| *asked > 0) {
        let times = counted(asked, "attempt");
        lines.push(format!(
            "room: {times} to addresses outside the web: no route leads there; its DNS server is {}",
            PEER_V4.address
        ));
    }
    let Some(record) = record else {
        return lines;
    };
    if record.handshakes_refused > 0 {
        let handshakes = counted(record.handshakes_refused, "handshake");
        lines.push(format!(
            "room: the command rejected the room's certificates in {handshakes}; if it has its own trust store, name that \
             file: --trust-file FILE"
        ));
    }
    lines.extend(planned_statuses_line(&record.refusing_names));
    lines
}

fn planned_statuses_line(names: &BTreeMap<String, u16>) -> Option<String> {
    let listed: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|(name, status)| format!("{status} from {name}"))
        .collect();
    (!listed.is_empty()).then(|| {
        format!(
            "room: {}{}: planned by the web, not network failures",
            listed.join(", "),
            more(names.len())
        )
    })
}

fn more(count: usize) -> String {
    match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn planned_faults_line(web: &str, names: &BTreeMap<String, Fault>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let listed: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|(name, fault)| format!("{name} ({})", fault.name()))
        .collect();
    Some(format!(
        "room: requested hosts with a planned fault (web {web}): {}{}; --web plain has no faults",
        listed.join(", "),
        more(names.len())
    ))
}

/// Requests and handshakes of a web, bytes on the room's own network, CPU time.
fn summary_line(ending: &Ending, origin: Option<&OriginReport>) -> String {
    let subject = &ending.subject;
    let mut parts = Vec::new();
    if let Some(origin) = origin {
        parts.push(counted(origin.requests, "request"));
        let handshakes = origin.handshakes_full + origin.handshakes_resumed;
        parts.push(counted(handshakes, "handshake"));
    }
    if let (Some(sent), Some(received)) = (subject.sent_bytes, subject.received_bytes) {
        parts.push(format!("{received} bytes received, {sent} sent"));
    }
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
    parts.push(format!(
        "{:.3} s of CPU in {:.3} s",
        seconds(subject.cpu.total_ns()),
        seconds(subject.wall_ns)
    ));
    format!("room: {}", parts.join(", "))
}

fn counted(count: u64, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_line(faults: &[(&str, Fault)]) -> Option<String> {
        let names = faults
            .iter()
            .map(|&(name, fault)| (name.to_owned(), fault))
            .collect();
        planned_faults_line("mine", &names)
    }

    #[test]
    fn names_are_listed_with_their_fault() {
        assert_eq!(faults_line(&[]), None);
        assert_eq!(
            faults_line(&[("b.test", Fault::TlsAlert), ("a.test", Fault::NxDomain)]).unwrap(),
            "room: requested hosts with a planned fault (web mine): a.test (nxdomain), b.test (tls_alert); \
             --web plain has no faults"
        );
    }

    #[test]
    fn statuses_are_explained_as_planned() {
        let names = |count: u16| (0..count).map(|number| (format!("{number}.test"), 400 + number));
        let line = |count| planned_statuses_line(&names(count).collect());
        assert_eq!(line(0), None);
        assert_eq!(
            line(2).unwrap(),
            "room: 400 from 0.test, 401 from 1.test: planned by the web, not network failures"
        );
        assert!(line(7).unwrap().contains("404 from 4.test and 2 more: "));
    }

    #[test]
    fn many_names_are_counted() {
        let names: Vec<String> = (1..=7).map(|number| format!("{number}.test")).collect();
        let faults: Vec<_> = names
            .iter()
            .map(|name| (name.as_str(), Fault::Refused))
            .collect();
        let line = faults_line(&faults).unwrap();
        assert!(line.contains("5.test (refused) and 2 more;"), "{line}");
        assert!(!line.contains("6.test"), "{line}");
    }
}
