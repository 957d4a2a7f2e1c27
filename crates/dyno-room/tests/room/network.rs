//! The room's network: everything that has an address answers, refuses or is silent as the web has it.

use libtest_mimic::Failed;

use crate::Test;
use crate::stage::{Stage, User, holds, processes_with, same, wait_until};

pub const TESTS: &[(&str, Test)] = &[
    (
        "every_address_of_the_web_is_the_origins",
        every_address_of_the_web_is_the_origins,
    ),
    (
        "closed_hosts_refuse_and_silent_ones_are_silent",
        closed_hosts_refuse_and_silent_ones_are_silent,
    ),
    (
        "the_rest_of_the_world_is_unreachable",
        the_rest_of_the_world_is_unreachable,
    ),
    (
        "names_come_from_the_rooms_files_and_its_name_server",
        names_come_from_the_rooms_files_and_its_name_server,
    ),
    (
        "routes_and_mounts_cannot_be_changed_inside",
        routes_and_mounts_cannot_be_changed_inside,
    ),
    ("traffic_is_counted", traffic_is_counted),
    (
        "a_peer_program_is_reached_and_ends_with_the_room",
        a_peer_program_is_reached_and_ends_with_the_room,
    ),
    (
        "a_peer_that_cannot_be_executed_says_why",
        a_peer_that_cannot_be_executed_says_why,
    ),
];

fn connect(stage: &Stage, addresses: &[&str]) -> Result<Vec<String>, Failed> {
    let arguments: Vec<&str> = ["connect"].iter().chain(addresses).copied().collect();
    let ended = stage.run(&[], &stage.subject(&arguments))?;
    same("lines", ended.stdout().lines().count(), addresses.len())
        .map_err(|_| format!("{}{}", ended.stdout(), ended.stderr()))?;
    Ok(ended.stdout().lines().map(str::to_owned).collect())
}

fn every_address_of_the_web_is_the_origins(stage: &Stage) -> Result<(), Failed> {
    let table = [
        ("10.0.0.1:80", "10.0.0.1"),
        ("10.255.255.254:80", "10.255.255.254"),
        ("198.18.0.1:80", "198.18.0.1"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("[2001:db8:ffff::9]:80", "2001:db8:ffff::9"),
    ];
    let found = connect(stage, &table.map(|(address, _)| address))?;
    same("greetings", found, table.map(|(_, greeting)| greeting))
}

fn closed_hosts_refuse_and_silent_ones_are_silent(stage: &Stage) -> Result<(), Failed> {
    let table = [
        ("10.67.0.0:80", "ConnectionRefused"),
        ("10.67.255.255:80", "ConnectionRefused"),
        ("[2001:db8:67::1]:80", "ConnectionRefused"),
        ("10.66.0.1:80", "TimedOut"),
        ("[2001:db8:66::1]:80", "TimedOut"),
        // Their neighbours live, and a living host refuses only where nothing listens.
        ("10.68.0.1:80", "10.68.0.1"),
        ("10.65.0.1:81", "ConnectionRefused"),
    ];
    let found = connect(stage, &table.map(|(address, _)| address))?;
    same("outcomes", found, table.map(|(_, outcome)| outcome))
}

fn the_rest_of_the_world_is_unreachable(stage: &Stage) -> Result<(), Failed> {
    let addresses = ["1.1.1.1:80", "192.168.1.1:80", "[2606:4700::1]:80"];
    let found = connect(stage, &addresses)?;
    same("outcomes", found, ["HostUnreachable"; 3])
}

fn names_come_from_the_rooms_files_and_its_name_server(stage: &Stage) -> Result<(), Failed> {
    for (name, expected) in [("subject", "127.0.1.1"), ("peer", "198.18.0.1")] {
        let ended = stage.run(&[], &stage.subject(&["resolve", name]))?;
        same(name, ended.stdout().trim(), expected)?;
    }
    let ended = stage.run(&[], &stage.subject(&["resolve", "nowhere.example"]))?;
    let found = ended.stdout();
    holds(
        &found,
        found.contains("lookup") || found.contains("not known"),
    )
}

fn routes_and_mounts_cannot_be_changed_inside(stage: &Stage) -> Result<(), Failed> {
    for path in ["/etc/resolv.conf", "/run"] {
        let ended = stage.run(&[], &stage.subject(&["unmount", path]))?;
        same(path, ended.stdout().trim(), "PermissionDenied")?;
    }
    let ended = stage.run(&[], &["grep", "CapEff", "/proc/self/status"])?;
    let text = ended.stdout();
    let effective = text.split_whitespace().last().unwrap_or_default();
    let effective = u64::from_str_radix(effective, 16)?;
    // CAP_NET_ADMIN, CAP_SYS_PTRACE, CAP_SYS_ADMIN
    same(
        "capabilities to change the room",
        effective & (1 << 12 | 1 << 19 | 1 << 21),
        0,
    )?;
    if stage.user() == User::Ordinary {
        same("capabilities", effective, 0)?;
    }
    let script =
        "echo 0 > /proc/sys/kernel/printk || echo 0 > /sys/fs/cgroup/cgroup.procs || echo refused";
    let ended = stage.run(&[], &["sh", "-c", script])?;
    same("kernel settings", ended.stdout(), "refused\n")
}

fn traffic_is_counted(stage: &Stage) -> Result<(), Failed> {
    let quiet = stage.run(&[], &["true"])?;
    let ended = stage.run(
        &[],
        &stage.subject(&["connect", "10.1.2.3:80", "10.1.2.4:80"]),
    )?;
    for counter in [
        "sent_packets",
        "received_packets",
        "sent_bytes",
        "received_bytes",
    ] {
        let count = |ended: &crate::stage::Ended| ended.report["subject"][counter].as_u64();
        holds(counter, count(&ended) > count(&quiet))?;
    }
    // A handshake, an acknowledgement and an end each: three packets at the least.
    holds(
        "packets",
        ended.report["subject"]["sent_packets"].as_u64() >= Some(6),
    )
}

fn a_peer_program_is_reached_and_ends_with_the_room(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let program = stage.program();
    let program = program.display();
    let peer = format!(
        "{program} subject sleep {token} & {program} subject burn 50 >&2; exec {program} subject greet 80"
    );
    // The test's engine holds port 80 on every address of its namespace but leaves the others.
    let peer = peer.replace("greet 80", "greet 8080");
    let script =
        format!("until {program} subject connect peer:8080 | grep hello; do sleep 0.02; done");
    let ended = stage.run(&["--peer", &peer], &["sh", "-c", &script])?;
    same("greeting", ended.stdout(), "hello\n").map_err(|_| ended.stderr())?;
    let cpu = |who: &str, part: &str| ended.report[who][part].as_u64().unwrap_or(0);
    let peer_cpu = cpu("peer", "cpu_user_ns") + cpu("peer", "cpu_system_ns");
    holds(
        &format!("the peer's {peer_cpu} ns hold what it burned"),
        peer_cpu >= 50_000_000,
    )?;
    same(
        "the peer ran until the end",
        &ended.report["peer"]["exit_code"],
        &serde_json::Value::Null,
    )?;
    wait_until("the peer's processes end", || {
        processes_with(&token).is_empty()
    })
}

fn a_peer_that_cannot_be_executed_says_why(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&["--peer-program", "no-such-peer"], &["true"])?;
    same("status", ended.output.status.code(), Some(125))?;
    let text = ended.stderr();
    holds(&text, text.contains("cannot execute no-such-peer"))
}
