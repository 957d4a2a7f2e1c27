//! The room's network: every address answers, refuses or stays silent as the web defines.

use std::io::Write;

use libtest_mimic::Failed;

use crate::Test;
use crate::stage::{Stage, User, holds, processes_with, same, wait_until};

pub const TESTS: &[(&str, Test)] = &[
    (
        "every_address_of_the_web_reaches_the_origin",
        every_address_of_the_web_reaches_the_origin,
    ),
    (
        "closed_hosts_refuse_and_silent_ones_are_silent",
        closed_hosts_refuse_and_silent_ones_are_silent,
    ),
    (
        "other_networks_are_unreachable",
        other_networks_are_unreachable,
    ),
    (
        "names_are_resolved_by_the_rooms_files_and_name_server",
        names_are_resolved_by_the_rooms_files_and_name_server,
    ),
    (
        "routes_and_mounts_cannot_be_changed_inside",
        routes_and_mounts_cannot_be_changed_inside,
    ),
    ("traffic_is_counted", traffic_is_counted),
    (
        "traffic_before_the_start_is_not_the_subjects",
        traffic_before_the_start_is_not_the_subjects,
    ),
    (
        "a_peer_program_is_reached_and_ends_with_the_room",
        a_peer_program_is_reached_and_ends_with_the_room,
    ),
    ("a_peer_program_can_clean_up", a_peer_program_can_clean_up),
    (
        "a_peer_that_cannot_be_executed_is_reported",
        a_peer_that_cannot_be_executed_is_reported,
    ),
    (
        "on_the_machines_own_network_a_given_name_is_reached",
        on_the_machines_own_network_a_given_name_is_reached,
    ),
    (
        "on_the_machines_own_network_there_are_no_raw_sockets",
        on_the_machines_own_network_there_are_no_raw_sockets,
    ),
    (
        "a_peer_program_cannot_change_the_kernels_settings",
        a_peer_program_cannot_change_the_kernels_settings,
    ),
];

/// Tests that require root.
pub const ROOT_TESTS: &[(&str, Test)] = &[(
    "each_end_receives_on_its_own_cpus_if_requested",
    each_end_receives_on_its_own_cpus_if_requested,
)];

fn connect(stage: &Stage, addresses: &[&str]) -> Result<Vec<String>, Failed> {
    let arguments: Vec<&str> = ["connect"].iter().chain(addresses).copied().collect();
    let ended = stage.run(&[], &stage.subject(&arguments))?;
    same("lines", ended.stdout().lines().count(), addresses.len())
        .map_err(|_| format!("{}{}", ended.stdout(), ended.stderr()))?;
    Ok(ended.stdout().lines().map(str::to_owned).collect())
}

fn every_address_of_the_web_reaches_the_origin(stage: &Stage) -> Result<(), Failed> {
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
        ("silent:10.66.0.1:80", "TimedOut"),
        ("silent:[2001:db8:66::1]:80", "TimedOut"),
        // Neighbouring hosts are alive; a live host refuses only where nothing listens.
        ("10.68.0.1:80", "10.68.0.1"),
        ("10.65.0.1:81", "ConnectionRefused"),
    ];
    let found = connect(stage, &table.map(|(address, _)| address))?;
    same("outcomes", found, table.map(|(_, outcome)| outcome))
}

fn other_networks_are_unreachable(stage: &Stage) -> Result<(), Failed> {
    let addresses = ["1.1.1.1:80", "192.168.1.1:80", "[2606:4700::1]:80"];
    let found = connect(stage, &addresses)?;
    same("outcomes", found, ["NetworkUnreachable"; 3])?;
    // The counter includes each of these attempts, and no packet of the kernel itself.
    for asked in [&addresses[..], &["10.0.0.1:80"][..]] {
        let arguments: Vec<&str> = ["connect"].iter().chain(asked).copied().collect();
        let ended = stage.run(&[], &stage.subject(&arguments))?;
        let expected = if asked.len() > 1 { asked.len() } else { 0 };
        same(
            "without a route",
            ended.report["subject"]["without_route"].as_u64(),
            Some(expected as u64),
        )?;
    }
    Ok(())
}

fn names_are_resolved_by_the_rooms_files_and_name_server(stage: &Stage) -> Result<(), Failed> {
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
    let ended = stage.run(
        &[],
        &stage.subject(&["connect", "10.1.2.3:80", "10.1.2.4:80"]),
    )?;
    let subject = &ended.report["subject"];
    // A handshake, an acknowledgement and an end each: at least three packets; two come back, one with a greeting.
    for (counter, least) in [
        ("sent_packets", 6),
        ("received_packets", 4),
        ("sent_bytes", 6 * 40),
        ("received_bytes", 4 * 40 + 2 * "10.1.2.3\n".len() as u64),
    ] {
        let count = subject[counter].as_u64();
        holds(&format!("{counter}: {count:?}"), count >= Some(least))?;
    }
    Ok(())
}

fn traffic_before_the_start_is_not_the_subjects(stage: &Stage) -> Result<(), Failed> {
    /// More than the kernel itself sends in the first second of a device, which may be after the start.
    const COUNT: usize = 100;
    let file = stage.path("refused");
    let name = file.to_str().ok_or("a folder that is not UTF-8")?;
    // For each connection, one packet goes to the subject's end and one comes back.
    let peer = format!(
        "{} subject connect {} > {name}.new; mv {name}.new {name}; exec sleep 600",
        stage.program().display(),
        "198.18.0.2:80 ".repeat(COUNT)
    );
    let ended = stage.run(&["--peer", &peer, "--pause-until", name], &["true"])?;
    same(
        "what came back",
        std::fs::read_to_string(file)?,
        "ConnectionRefused\n".repeat(COUNT),
    )?;
    for counter in ["sent_packets", "received_packets"] {
        let counted = ended.report["subject"][counter].as_u64();
        holds(
            &format!("{counter}: {counted:?}"),
            counted.is_some_and(|counted| counted < COUNT as u64),
        )?;
    }
    Ok(())
}

fn a_peer_program_is_reached_and_ends_with_the_room(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let program = stage.program();
    let program = program.display();
    let peer = format!(
        "{program} subject sleep {token} & {program} subject burn 50 >&2; exec {program} subject greet 80"
    );
    // The test engine occupies port 80 on every address of its namespace, but no other port.
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

fn a_peer_program_can_clean_up(stage: &Stage) -> Result<(), Failed> {
    let file = stage.path("temporary");
    let file = file.display();
    // The subject ends when the file exists.
    let peer = format!("trap 'rm {file}; exit 3' TERM; touch {file}; while :; do sleep 0.02; done");
    let subject = format!("while ! [ -e {file} ]; do sleep 0.02; done");
    let ended = stage.run(&["--peer", &peer], &["sh", "-c", &subject])?;
    same("status", ended.output.status.code(), Some(0))?;
    holds(
        "nothing is left",
        !std::path::Path::new(&file.to_string()).exists(),
    )?;
    same(
        "no end of its own",
        &ended.report["peer"]["exit_code"],
        &serde_json::Value::Null,
    )
}

fn a_peer_that_cannot_be_executed_is_reported(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&["--peer-program", "no-such-peer"], &["true"])?;
    same("status", ended.output.status.code(), Some(125))?;
    let text = ended.stderr();
    holds(&text, text.contains("cannot execute no-such-peer"))
}

fn on_the_machines_own_network_a_given_name_is_reached(stage: &Stage) -> Result<(), Failed> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let address = format!("other.test:{}", listener.local_addr()?.port());
    let greeter = std::thread::spawn(move || {
        listener
            .accept()
            .and_then(|(mut stream, _)| stream.write_all(b"from outside\n"))
    });
    let ended = stage.run(
        &["--host", "other.test"],
        &stage.subject(&["connect", &address]),
    )?;
    same(&ended.stderr(), ended.stdout(), "from outside\n")?;
    greeter.join().map_err(|_| "the greeter failed")??;
    // On the machine's network, the subject's share cannot be separated.
    same(
        "bytes",
        &ended.report["subject"]["sent_bytes"],
        &serde_json::Value::Null,
    )?;
    // Everything else is as in any room.
    let ended = stage.run(
        &["--host", "other.test", "--deadline-ms", "200"],
        &["sleep", "600"],
    )?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("deadline"),
    )?;
    let ended = stage.run(&["--host", "other.test"], &["ls", "/run"])?;
    same(
        "what lies in /run",
        ended.stdout(),
        "httpdyno\nlock\nuser\n",
    )
}

fn on_the_machines_own_network_there_are_no_raw_sockets(stage: &Stage) -> Result<(), Failed> {
    let subject = stage.subject(&["raw-socket"]);
    let ended = stage.run(&["--host", "other.test"], &subject)?;
    same("outside", ended.stdout(), "PermissionDenied\n")?;
    // Root has them in the room's own network, where only the web receives their packets.
    let inside = match stage.user() {
        User::Root => "opened\n",
        User::Ordinary => "PermissionDenied\n",
    };
    same("inside", stage.run(&[], &subject)?.stdout(), inside)
}

fn a_peer_program_cannot_change_the_kernels_settings(stage: &Stage) -> Result<(), Failed> {
    let (file, ready) = (stage.path("found"), stage.path("ready"));
    let (file, ready) = (file.display(), ready.display());
    // A setting of the room's own, which is safe to write.
    let attempts = format!(
        "echo changed > /proc/sys/kernel/domainname && echo a setting was written >> {file}; \
         head -c 1 /proc/keys | grep -q . && echo keys were read >> {file}; \
         touch {ready}; exec sleep 600"
    );
    let subject = format!("while ! [ -e {ready} ]; do sleep 0.02; done");
    let ended = stage.run(&["--peer", &attempts], &["sh", "-c", &subject])?;
    same("status", ended.output.status.code(), Some(0))?;
    same(
        "what the peer got at",
        std::fs::read_to_string(file.to_string()).unwrap_or_default(),
        "",
    )
}

fn each_end_receives_on_its_own_cpus_if_requested(stage: &Stage) -> Result<(), Failed> {
    let subject = stage.subject(&["connect", "10.1.2.3:80"]);
    let ended = stage.run(&["--steer", "on"], &subject)?;
    same("the web is reached", ended.stdout(), "10.1.2.3\n")?;
    let steering = &ended.report["receive_steering"];
    if steering["done"] == false {
        // Root of a container may be refused; the report then says so.
        eprintln!("packets are not steered: {}", steering["reason"]);
        return holds("a reason", steering["reason"].is_string());
    }
    same("reason", &steering["reason"], &serde_json::Value::Null)?;
    let before = steered_packets()?;
    let ended = stage.run(
        &["--steer", "on"],
        &stage.subject(&["connect", "10.1.2.3:80"]),
    )?;
    same("asked", &ended.report["receive_steering"]["asked"], true)?;
    // With a single CPU there is nothing to hand over.
    let others = dyno_room::CpuSet::allowed()?.iter().count() > 1;
    let handed_over = steered_packets()? > before;
    holds("packets were handed over", handed_over || !others)?;
    let ended = stage.run(&[], &subject)?;
    same(
        "not asked",
        &ended.report["receive_steering"]["asked"],
        false,
    )
}

/// Return how often any CPU received packets from another one.
fn steered_packets() -> Result<u64, Failed> {
    let text = std::fs::read_to_string("/proc/net/softnet_stat")?;
    let counts = text.lines().filter_map(|line| {
        let field = line.split_ascii_whitespace().nth(9)?;
        u64::from_str_radix(field, 16).ok()
    });
    Ok(counts.sum())
}
