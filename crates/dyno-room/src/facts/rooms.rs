//! Whether this user can make rooms, tested by making one in a child.

use std::path::Path;

use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use super::{Fact, Fitness, Value};
use crate::channel::Channel;
use crate::error::{Result, RoomError, Step};
use crate::link;
use crate::network::Network;
use crate::options::NamesAndTrust;
use crate::{files, mounts, namespaces, process};

const NO_ROOM: &str = "no rooms, so no experiments; load, fetch and origin run without one";

/// Results of the child: each field has the reason why a step fails, if it does.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Trial {
    user: Option<String>,
    network: Option<String>,
    process: Option<String>,
}

pub(super) fn facts() -> Vec<Fact> {
    let trial = test_namespaces();
    vec![
        user_namespaces(trial.user),
        needed("network_namespaces", trial.network),
        needed("process_namespaces", trial.process),
        ipv6(),
        tun(),
    ]
}

fn user_namespaces(problem: Option<String>) -> Fact {
    const NAME: &str = "user_namespaces";
    match problem {
        None => Fact::good(NAME, Value::Flag(true)),
        Some(problem) if namespaces::is_privileged() => Fact::poor(
            NAME,
            Value::Text(problem),
            Fitness::Limited,
            "only root can make rooms here",
            &namespaces::cure(),
        ),
        Some(problem) => Fact::poor(
            NAME,
            Value::Text(problem),
            Fitness::No,
            NO_ROOM,
            &namespaces::cure(),
        ),
    }
}

fn needed(name: &'static str, problem: Option<String>) -> Fact {
    match problem {
        None => Fact::good(name, Value::Flag(true)),
        Some(problem) => Fact::poor(
            name,
            Value::Text(problem),
            Fitness::No,
            NO_ROOM,
            &namespaces::cure(),
        ),
    }
}

fn ipv6() -> Fact {
    const NAME: &str = "ipv6";
    if Path::new("/proc/sys/net/ipv6").exists() {
        Fact::good(NAME, Value::Flag(true))
    } else {
        Fact::poor(
            NAME,
            Value::Flag(false),
            Fitness::Limited,
            "the web has IPv4 addresses only",
            "boot without ipv6.disable=1",
        )
    }
}

fn tun() -> Fact {
    const NAME: &str = "tun";
    if access(link::MAKER, Access::READ_OK | Access::WRITE_OK).is_ok() {
        return Fact::good(NAME, Value::Flag(true));
    }
    Fact::poor(
        NAME,
        Value::Flag(false),
        Fitness::Limited,
        "no emulated links (--link): subject and peer are joined directly",
        link::cure(),
    )
}

/// Make and drop the namespaces of a room.
fn test_namespaces() -> Trial {
    exchange(|channel| {
        let _ = channel.send(
            &Trial {
                user: problem(try_user_namespace()),
                network: problem(namespaces::gain_privilege().and_then(|()| Network::build(None))),
                process: problem(try_process_namespace()),
            },
            &[],
        );
    })
    .unwrap_or_else(|error| Trial {
        user: None,
        network: Some(error.to_string()),
        process: Some(error.to_string()),
    })
}

fn problem<T>(result: Result<T>) -> Option<String> {
    result.err().map(|error| error.to_string())
}

/// Runs in a child, because it cannot be undone.
fn try_user_namespace() -> Result<()> {
    report(namespaces::enter_user_namespace, 0)
}

fn try_process_namespace() -> Result<()> {
    let namespaces =
        libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;
    report(
        || {
            mounts::isolate_mounts().and_then(|()| {
                mounts::install_names_and_trust(
                    &NamesAndTrust::default(),
                    &files::sealed_names("subject"),
                )
            })
        },
        namespaces,
    )
}

/// Run an attempt in a child and return its result.
fn report(attempt: impl FnOnce() -> Result<()>, namespaces: i32) -> Result<()> {
    let outcome: Option<String> = spawn_and_receive(namespaces, |channel| {
        let _ = channel.send(&problem(attempt()), &[]);
    })?;
    outcome.map_or(Ok(()), |reason| Err(RoomError::Init(reason)))
}

fn exchange(child: impl FnOnce(&Channel)) -> Result<Trial> {
    spawn_and_receive(0, child)
}

fn spawn_and_receive<M: serde::de::DeserializeOwned>(
    namespaces: i32,
    child: impl FnOnce(&Channel),
) -> Result<M> {
    let step = || "testing namespaces in a child".to_owned();
    let (near, far) = Channel::pair().step(step)?;
    let pid = process::spawn(namespaces, || child(&far)).step(step)?;
    drop(far);
    let received = near.receive().step(step);
    process::reap_one(pid);
    received?
        .map(|(message, _)| message)
        .ok_or_else(|| RoomError::Init("the child ended without an answer".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_rooms_the_consequence_names_the_verbs_that_run() {
        let refused = || Some("the kernel refuses".to_owned());
        let fact = needed("network_namespaces", refused());
        assert_eq!(fact.ok, Fitness::No);
        let consequence = fact.consequence.unwrap_or_default();
        for verb in ["load", "fetch", "origin"] {
            assert!(consequence.contains(verb), "{consequence}");
        }
        assert!(
            !consequence.contains("--"),
            "no option stands in for a room: {consequence}"
        );
        assert_eq!(fact.cure, Some(namespaces::cure()));
        assert_eq!(needed("network_namespaces", None).ok, Fitness::Yes);
    }
}
