//! The account of a server and its driver.

use super::{Course, Driven};
use crate::account::{DriverAccount, Ending, Outcome, ServerAccount, ServerState};
use crate::addresses::SUBJECT_V4;
use crate::options::ServerOptions;
use crate::protocol::Cause;
use crate::running::ending::text;
use crate::running::{Running, SubjectEnd};
use crate::tree_sampler::TreeSamples;

impl Running {
    /// Complete the account of a subject by the results of a server.
    pub(super) fn server_ending(
        &self,
        ending: Ending,
        course: &Course,
        server: &ServerOptions,
        end: &SubjectEnd,
        samples: TreeSamples,
    ) -> Ending {
        let (outcome, reason) = course.outcome(&ending, end, server);
        let mut ending = Ending {
            outcome,
            reason,
            server: Some(ServerAccount {
                address: SUBJECT_V4.address,
                port: server.port,
                ready_ns: course.ready_at_ns.map(|at_ns| self.elapsed_ns(at_ns)),
                state: course.state(end),
                ended_after_ns: end
                    .asked_ns
                    .map(|asked_ns| end.at.monotonic_ns.saturating_sub(asked_ns)),
                descriptors: samples.descriptors,
                most_descriptors_of_one_process: samples.fullest.map(|process| process.count),
                descriptor_limit: samples.fullest.and_then(|process| process.limit),
            }),
            ..ending
        };
        if let Some(driver) = &course.driver {
            ending.driver = Some(self.driver_account(driver, server));
            self.restrict_to_drive(&mut ending, driver, end);
        }
        ending
    }

    /// Return the time from the server's exec to a moment of the monotonic clock.
    fn elapsed_ns(&self, at_ns: u64) -> u64 {
        let started_ns = self.start.as_ref().map_or(at_ns, |at| at.monotonic_ns);
        at_ns.saturating_sub(started_ns)
    }

    fn driver_account(&self, driver: &Driven, server: &ServerOptions) -> DriverAccount {
        let started_ns = driver.started.monotonic_ns;
        DriverAccount {
            argv: text(&server.driver.argv),
            exit_code: driver.end.exit_code,
            signal: driver.end.signal,
            cpu: driver.end.cpu,
            started_ns: self.elapsed_ns(started_ns),
            wall_ns: driver
                .end
                .at_ns
                .map_or(0, |at_ns| at_ns.saturating_sub(started_ns)),
        }
    }

    /// Restrict the figures of the machine to the time of the drive: the start and the end of a server are not its load.
    fn restrict_to_drive(&self, ending: &mut Ending, driver: &Driven, end: &SubjectEnd) {
        let options = &self.room.options;
        let (before, after) = (&driver.before, driver.after.as_ref().unwrap_or(&end.after));
        ending.engine = after.engine_since(before);
        ending.cpus = after.cpus_since(before, &options.engine_cpus, &options.subject_cpus);
        ending.pressure = after.pressure_since(before);
        ending.throttled_ns = after.throttled_since(before);
    }
}

impl Course {
    fn state(&self, end: &SubjectEnd) -> ServerState {
        match (end.cause, end.ignored_sigterm, self.ready_at_ns) {
            (Cause::Own, ..) => ServerState::Died,
            (_, _, None) => ServerState::NeverListened,
            (_, true, _) => ServerState::Outlived,
            (_, false, _) => ServerState::Served,
        }
    }

    fn outcome(
        &self,
        ending: &Ending,
        end: &SubjectEnd,
        server: &ServerOptions,
    ) -> (Outcome, Option<String>) {
        if self.is_interrupted || end.cause == Cause::Deadline {
            return (ending.outcome, ending.reason.clone());
        }
        if let Some(refusal) = &self.refusal {
            return (Outcome::FailedToStart, Some(refusal.clone()));
        }
        match self.state(end) {
            ServerState::Died => (Outcome::Died, Some(self.describe_death(ending))),
            ServerState::NeverListened => (Outcome::NeverListened, Some(timeout_reason(server))),
            ServerState::Served | ServerState::Outlived => (Outcome::Ok, None),
        }
    }

    fn describe_death(&self, ending: &Ending) -> String {
        let subject = &ending.subject;
        let how = match (subject.exit_code, subject.signal) {
            (Some(code), _) => format!("exit code {code}"),
            (_, Some(signal)) => format!("signal {signal}"),
            _ => "cause unknown".to_owned(),
        };
        let when = match (self.ready_at_ns, &self.driver) {
            (None, _) => "before it accepted a connection",
            (_, Some(Driven { after: Some(_), .. })) => "after its driver had ended",
            _ => "while it was driven",
        };
        let memory = if subject.out_of_memory {
            "; the kernel killed a process of the server: out of memory"
        } else {
            ""
        };
        format!("the server ended by itself ({how}) {when}{memory}")
    }
}

fn timeout_reason(server: &ServerOptions) -> String {
    format!(
        "the server accepted no connection at {}:{} within {:?}",
        SUBJECT_V4.address, server.port, server.ready_timeout
    )
}
