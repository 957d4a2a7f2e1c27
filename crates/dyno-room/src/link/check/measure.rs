//! One measurement of a link: the threads that send and receive.

use std::os::fd::BorrowedFd;
use std::thread::{Scope, ScopedJoinHandle, scope, sleep};

use dyno_link::Link;

use super::datagrams::Datagrams;
use super::plan::{Plan, Train};
use super::probes::{echo, probe};
use super::start::{LEAD, Start};
use super::trains::{Arrival, receive, send};
use crate::cpu::CpuSet;
use crate::error::Result;
use crate::link::account::{Goodput, LinkMeasured, RoundTrips};

/// Measure a link between the subject's namespace, on the subject's CPUs, and this one.
pub(super) fn measure(
    link: &Link,
    plan: &Plan,
    subject_namespace: BorrowedFd,
    subject_cpus: &CpuSet,
    interrupted: &dyn Fn() -> bool,
) -> Result<LinkMeasured> {
    let (near, far) = Datagrams::pair(subject_namespace)?;
    let (up_near, up_far) = Datagrams::pair(subject_namespace)?;
    let (down_near, down_far) = Datagrams::pair(subject_namespace)?;
    let trains = usize::from(plan.up.is_some()) + usize::from(plan.down.is_some());
    let start = &Start::of(2 + 2 * trains);
    let subject = Some(subject_cpus);
    Ok(scope(|threads| {
        threads.spawn(|| echo(&far, plan, link, &start.wait(None)));
        let round_trips = threads.spawn(|| probe(&near, plan, &start.wait(subject)));
        let up = carry(
            threads,
            plan.up,
            start,
            (&up_near, subject),
            (&up_far, None),
        );
        let down = carry(
            threads,
            plan.down,
            start,
            (&down_far, None),
            (&down_near, subject),
        );
        let over = || {
            let mut trains = [&up, &down].into_iter().flatten();
            round_trips.is_finished() && trains.all(ScopedJoinHandle::is_finished)
        };
        while !over() {
            if interrupted() {
                start.stop();
            }
            sleep(LEAD);
        }
        let arrivals = |train: Option<ScopedJoinHandle<Vec<Arrival>>>| {
            train.map_or_else(Vec::new, |train| train.join().unwrap_or_default())
        };
        LinkMeasured {
            rtt_ns: RoundTrips::of(round_trips.join().unwrap_or_default()),
            up: Goodput::of(plan.up, &link.up, &arrivals(up)),
            down: Goodput::of(plan.down, &link.down, &arrivals(down)),
        }
    }))
}

/// One end of a train, and the CPUs of its thread.
type End<'scope> = (&'scope Datagrams, Option<&'scope CpuSet>);

/// Send a train from one end to the other, if there is one, each end in its own thread.
fn carry<'scope>(
    threads: &'scope Scope<'scope, '_>,
    train: Option<Train>,
    start: &'scope Start,
    (from, sender_cpus): End<'scope>,
    (to, receiver_cpus): End<'scope>,
) -> Option<ScopedJoinHandle<'scope, Vec<Arrival>>> {
    let train = train?;
    threads.spawn(move || send(from, train, &start.wait(sender_cpus)));
    Some(threads.spawn(move || receive(to, train, &start.wait(receiver_cpus))))
}
