//! Subjects of the tests: each does one thing and prints the result.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio, exit};
use std::time::{Duration, Instant};

/// How long to wait for an answer, and for silence. A slow machine only makes more hosts silent.
const PATIENCE: Duration = Duration::from_secs(300);
const SILENCE: Duration = Duration::from_millis(500);
/// Prefix of silent hosts' addresses.
const SILENT: &str = "silent:";
const MEBIBYTE: usize = 1024 * 1024;

/// Run as a subject and exit.
pub fn main(arguments: &[OsString]) -> ! {
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| argument.to_str().expect("the tests write UTF-8"))
        .collect();
    match arguments[..] {
        ["connect", ref addresses @ ..] => addresses.iter().for_each(|address| connect(address)),
        ["resolve", name] => match (name, 80).to_socket_addrs() {
            Ok(mut found) => println!("{}", found.next().expect("a name has an address").ip()),
            Err(error) => println!("{error}"),
        },
        ["burn", milliseconds] => burn(milliseconds.parse().expect("a number")),
        ["abandon", milliseconds] => leave_behind(&["burn", milliseconds], Stdio::piped()),
        ["ignore", milliseconds] => ignore(&["burn", milliseconds]),
        ["hold", mebibytes, milliseconds] => hold(
            mebibytes.parse().expect("a number"),
            milliseconds.parse().expect("a number"),
        ),
        ["sleep", _token] => std::thread::sleep(Duration::from_secs(600)),
        ["daemon", token] => leave_behind(&["sleep", token], Stdio::null()),
        ["greet", port] => greet(port),
        ["unmount", path] => unmount(path),
        ["raw-socket"] => raw_socket(),
        ["descriptors"] => descriptors(),
        ["bare-etc", ref command @ ..] => bare_etc(command),
        ["version-2-only", ref command @ ..] => version_2_only(command),
        ["without-tun", ref command @ ..] => without_tun(command),
        ["datagrams", count, pause_ms] => datagrams(
            count.parse().expect("a number"),
            Duration::from_millis(pause_ms.parse().expect("a number")),
        ),
        ["facts"] => println!(
            "{}",
            serde_json::to_string(&dyno_room::facts()).expect("facts are JSON")
        ),
        ["two-threads"] => two_threads(),
        ref other => panic!("unknown subject {other:?}"),
    }
    exit(0)
}

/// Print the greeting of a connection, or the kind of its error.
fn connect(address: &str) {
    let (timeout, address) = match address.strip_prefix(SILENT) {
        Some(silent) => (SILENCE, silent),
        None => (PATIENCE, address),
    };
    let address: SocketAddr = address
        .to_socket_addrs()
        .expect("an address or a name of the hosts file")
        .next()
        .expect("one address");
    let mut greeting = String::new();
    let outcome = TcpStream::connect_timeout(&address, timeout)
        .and_then(|mut stream| stream.read_to_string(&mut greeting));
    match outcome {
        Ok(_) => println!("{}", greeting.trim_end()),
        Err(error) => println!("{:?}", error.kind()),
    }
}

/// Use this much CPU time, then print the time used, in nanoseconds.
fn burn(milliseconds: u64) {
    use rustix::time::{ClockId, clock_gettime};
    let used = || Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default();
    while used() < Duration::from_millis(milliseconds) {
        std::hint::black_box((0..1000).sum::<u64>());
    }
    println!("{}", used().as_nanos());
}

/// Start a child and do not wait for its end, which the room must handle; print its output.
fn leave_behind(task: &[&str], output: Stdio) {
    let program = std::env::current_exe().expect("/proc is mounted");
    let mut command = Command::new(program);
    command.arg("subject").args(task).process_group(0);
    let child = command.stdin(Stdio::null()).stdout(output).spawn();
    if let Some(mut output) = child.expect("this program can be executed").stdout {
        std::io::copy(&mut output, &mut std::io::stdout()).expect("standard output is open");
    }
}

/// Start a child that only the kernel reaps.
fn ignore(task: &[&str]) {
    // SAFETY: SIG_IGN is a valid action for SIGCHLD.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
    let program = std::env::current_exe().expect("/proc is mounted");
    let status = Command::new(program).arg("subject").args(task).status();
    // Returns when the child has ended.
    status.expect_err("the child cannot be waited for");
}

/// Print whether a mount could be removed.
fn unmount(path: &str) {
    match rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH) {
        Ok(()) => println!("unmounted"),
        Err(error) => println!("{:?}", error.kind()),
    }
}

/// Print whether it may send and receive packets of any kind.
fn raw_socket() {
    use rustix::net::{AddressFamily, SocketType, ipproto, socket};
    match socket(AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)) {
        Ok(_) => println!("opened"),
        Err(error) => println!("{:?}", error.kind()),
    }
}

/// Touch this much memory and keep it for a while.
fn hold(mebibytes: usize, milliseconds: u64) {
    let mut memory = vec![0_u8; mebibytes * MEBIBYTE];
    for page in memory.chunks_mut(4096) {
        page[0] = 1;
    }
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(milliseconds) {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("{}", std::hint::black_box(&memory).len());
}

/// Greet every connection, for ever.
fn greet(port: &str) {
    let port: u16 = port.parse().expect("a port");
    let listener = TcpListener::bind(("0.0.0.0", port)).expect("the port is free");
    for connection in listener.incoming() {
        let _ = connection.expect("a connection").write_all(b"hello\n");
    }
}

/// Print the inherited descriptors, without the one that reads the folder.
fn descriptors() {
    let entries = std::fs::read_dir("/proc/self/fd").expect("/proc is mounted");
    let mut found: Vec<i32> = entries
        .flatten()
        .filter(|entry| {
            let target = std::fs::read_link(entry.path()).unwrap_or_default();
            !target.ends_with("fd")
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    found.sort_unstable();
    println!("{found:?}");
}

/// Execute a command on a machine whose `/etc` has no hosts, `nsswitch.conf` or certificates, and a `resolv.conf` that links
/// into `/run`, as systemd makes it.
fn bare_etc(command: &[&str]) {
    use rustix::mount::{MountFlags, mount};
    own_mounts();
    mount("tmpfs", "/etc", "tmpfs", MountFlags::empty(), None).expect("an empty /etc");
    std::os::unix::fs::symlink(
        "../run/systemd/resolve/stub-resolv.conf",
        "/etc/resolv.conf",
    )
    .expect("an empty folder takes a link");
    let error = Command::new(command[0]).args(&command[1..]).exec();
    panic!("{error}");
}

/// Send so many datagrams to the peer, which does not listen, with pauses; wait briefly for those in flight.
fn datagrams(count: u32, pause: Duration) {
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a port");
    for number in 0..count {
        let sent = socket.send_to(&[0; 40], "198.18.0.1:4");
        sent.expect("room in the device");
        if number % 20 == 0 {
            std::thread::sleep(pause);
        }
    }
    std::thread::sleep(pause * 100);
}

/// Execute a command on a machine with an empty `/dev/net`.
fn without_tun(command: &[&str]) {
    use rustix::mount::{MountFlags, mount};
    own_mounts();
    mount("tmpfs", "/dev/net", "tmpfs", MountFlags::empty(), None).expect("an empty folder");
    let error = Command::new(command[0]).args(&command[1..]).exec();
    panic!("{error}");
}

/// Execute a command on a machine that has only control groups of version 2.
fn version_2_only(command: &[&str]) {
    own_mounts();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("/proc is mounted");
    for mount in mounts.lines().filter(|mount| mount.contains(" - cgroup ")) {
        let point = mount.split(' ').nth(4).expect("a mount has a mount point");
        rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH)
            .expect("root may unmount");
    }
    let error = Command::new(command[0]).args(&command[1..]).exec();
    panic!("{error}");
}

/// Move this process into a mount namespace of its own.
fn own_mounts() {
    use rustix::mount::{MountPropagationFlags, mount_change};
    // SAFETY: unsharing a mount namespace closes no descriptor.
    let unshared = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) };
    unshared.expect("root may make namespaces");
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .expect("a private tree");
}

/// Enter a room with two threads, which must fail.
fn two_threads() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || receiver.recv());
    let allowed = dyno_room::CpuSet::allowed().expect("the kernel tells");
    let entered = dyno_room::Room::enter(&dyno_room::RoomOptions {
        engine_cpus: allowed.clone(),
        subject_cpus: allowed,
        ..Default::default()
    });
    println!("{}", entered.expect_err("two threads cannot move"));
    drop(sender);
    let _ = thread.join();
}
