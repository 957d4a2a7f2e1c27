//! CPU time of the processes that serve a load, where they run on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs, UdpSocket};

use dyno_load::Plan;
use rustix::param::clock_ticks_per_second;

/// State of a listening socket in /proc/net/tcp.
const LISTEN: &str = "0A";

/// The processes that share the listening sockets of a load's servers; empty if they are elsewhere, or belong to another user.
#[derive(Debug, Default)]
pub struct ServerProcesses(BTreeSet<u32>);

impl ServerProcesses {
    /// Finds the processes that listen on the addresses of a load.
    pub fn of(plan: &Plan) -> Self {
        if plan.sockets.unix_socket().is_some() {
            return Self::default();
        }
        let mut inodes = BTreeSet::new();
        for server in plan.requests.servers() {
            let Ok(addresses) = (server.host.as_str(), server.port).to_socket_addrs() else {
                continue;
            };
            for address in addresses.filter(|address| is_of_this_machine(address.ip())) {
                inodes.extend(listening_sockets(address.ip(), address.port()));
            }
        }
        if inodes.is_empty() {
            return Self::default();
        }
        Self(processes_with(&inodes))
    }

    /// CPU time of all of them so far, in seconds; `None` if there are none or one has ended.
    pub fn cpu_s(&self) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let times = self.0.iter().map(|process| {
            let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
            cpu_ticks(&text)
        });
        let ticks: u64 = times.sum::<Option<u64>>()?;
        #[expect(clippy::cast_precision_loss, reason = "a time")]
        Some(ticks as f64 / clock_ticks_per_second() as f64)
    }
}

/// User and system time in a line of /proc/PID/stat, in ticks; the name before them may have spaces and parentheses.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Whether an address belongs to this machine: then a socket can be bound to it.
fn is_of_this_machine(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// Inodes of the sockets that listen on an address or on all.
fn listening_sockets(address: IpAddr, port: u16) -> Vec<u64> {
    let files = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables = files.map(|file| fs::read_to_string(file).unwrap_or_default());
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    lines
        .filter_map(|line| listening(line, address, port))
        .collect()
}

/// The inode in a line of /proc/net/tcp, if it is a socket that listens on the address.
fn listening(line: &str, address: IpAddr, port: u16) -> Option<u64> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (local, local_port) = fields.get(1)?.split_once(':')?;
    if *fields.get(3)? != LISTEN || u16::from_str_radix(local_port, 16).ok()? != port {
        return None;
    }
    let local = parsed(local)?;
    (local.is_unspecified() || local.to_canonical() == address.to_canonical())
        .then(|| fields.get(9)?.parse().ok())
        .flatten()
}

/// An address as the kernel prints it: words of 32 bits in the order of the machine.
fn parsed(text: &str) -> Option<IpAddr> {
    let words = text.as_bytes().chunks(8).map(|word| {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        Some(word.to_ne_bytes())
    });
    let words: Vec<[u8; 4]> = words.collect::<Option<_>>()?;
    match words.as_slice() {
        [word] => Some(Ipv4Addr::from(*word).into()),
        words => {
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(bytes).into())
        }
    }
}

/// Processes that have one of the sockets open.
fn processes_with(inodes: &BTreeSet<u64>) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // The descriptors of another user's process cannot be read.
        let descriptors = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten();
        let mut sockets = descriptors.flatten().filter_map(|descriptor| {
            let target = fs::read_link(descriptor.path()).ok()?;
            let inode = target
                .to_str()?
                .strip_prefix("socket:[")?
                .strip_suffix(']')?;
            inode.parse::<u64>().ok()
        });
        if sockets.any(|inode| inodes.contains(&inode)) {
            found.insert(id);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn ticks_follow_a_name_with_parentheses() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 1 0";
        assert_eq!(cpu_ticks(stat), Some(42));
    }

    #[test]
    fn a_listening_socket_is_found_with_its_process() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else {
                continue;
            };
            let address = listener.local_addr().unwrap();
            let inodes = listening_sockets(address.ip(), address.port());
            assert_eq!(inodes.len(), 1);
            let found = processes_with(&inodes.into_iter().collect());
            assert!(found.contains(&std::process::id()));
        }
    }
}
