//! A room whose subject is a server: wait for readiness, run the driver, end the server.

mod account;

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{Running, SubjectEnd};
use crate::account::{Ending, Outcome};
use crate::addresses::SUBJECT_V4;
use crate::error::Result;
use crate::machine_window::MachineSnapshot;
use crate::options::ServerOptions;
use crate::protocol::{Event, Instants, PeerEnd};
use crate::readiness::Readiness;

/// Progress of the trial.
struct Course {
    stage: Stage,
    /// When the server first accepted a connection, on the monotonic clock.
    ready_at_ns: Option<u64>,
    driver: Option<Driven>,
    /// Why the driver could not be executed.
    refusal: Option<String>,
    is_interrupted: bool,
}

/// The stages of a trial.
enum Stage {
    /// Waiting for the server to accept a connection, until this time on the monotonic clock.
    Awaiting(Readiness, u64),
    /// Waiting for the driver to end.
    Driving,
    /// Waiting for the server to end after SIGTERM.
    Ending,
}

/// A driver that was started.
struct Driven {
    started: Instants,
    before: MachineSnapshot,
    /// Taken when the driver ended.
    after: Option<MachineSnapshot>,
    end: PeerEnd,
}

/// Descriptors of the room that are ready to read.
struct Ready {
    by_init: bool,
    by_signal: bool,
    by_stopper: bool,
}

impl Running {
    /// Wait until the subject, a server, accepts a connection; run the driver; end the server when the driver ends; end every other
    /// process of the room and return the account.
    ///
    /// # Errors
    ///
    /// See [`Running::wait`].
    pub fn serve(mut self, server: &ServerOptions) -> Result<Ending> {
        let Ok(started) = self.start else {
            return self.never_started(Outcome::FailedToStart);
        };
        let mut course = Course::begin(server, started)?;
        let end = self.run_course(&mut course, server);
        self.take_terminal_back();
        let end = end?;
        let samples = self.samples();
        let counted = self.room.init.counted()?;
        if let (Some(driver), Some(end)) = (&mut course.driver, counted.peer) {
            driver.end = end;
        }
        let ending = self.account(started, &end, &counted, &samples);
        let ending = self.server_ending(ending, &course, server, &end, samples.tree);
        self.room.group.remove();
        Ok(ending)
    }

    /// Run all stages until the server has ended.
    fn run_course(&mut self, course: &mut Course, server: &ServerOptions) -> Result<SubjectEnd> {
        loop {
            let ready = self.wait_for_events(&course.stage);
            if ready.by_init {
                let event = self.room.init.next_event()?;
                self.note(course, &event)?;
                if let Some(end) = self.subject_end(&event)? {
                    return Ok(end);
                }
            } else if ready.by_signal && self.room.signals.take().is_some()
                || ready.by_stopper && self.stop.take()
            {
                course.is_interrupted = true;
                self.ask_to_end();
                course.stage = Stage::Ending;
            }
            self.check_readiness(course, server);
        }
    }

    /// Wait until a descriptor is ready or the time of this stage is over.
    fn wait_for_events(&self, stage: &Stage) -> Ready {
        let mut descriptors = vec![
            PollFd::new(&self.room.init.channel, PollFlags::IN),
            PollFd::new(&self.room.signals, PollFlags::IN),
            PollFd::new(&self.stop.0, PollFlags::IN),
        ];
        let mut timeout = None;
        if let Stage::Awaiting(readiness, until_ns) = stage {
            descriptors.push(PollFd::new(readiness, PollFlags::IN));
            let left_ns = until_ns.saturating_sub(Instants::now().monotonic_ns);
            timeout = Timespec::try_from(Duration::from_nanos(left_ns)).ok();
        }
        // After an interruption the caller waits again.
        let polled = poll(&mut descriptors, timeout.as_ref()).is_ok();
        let is_ready = |which: usize| polled && !descriptors[which].revents().is_empty();
        Ready {
            by_init: is_ready(0),
            by_signal: is_ready(1),
            by_stopper: is_ready(2),
        }
    }

    /// Record an event of the driver.
    fn note(&mut self, course: &mut Course, event: &Event) -> Result<()> {
        match event {
            Event::PeerStarted { keeper, at } => {
                if let Some(samplers) = &self.samplers {
                    samplers.tree.exclude(*keeper);
                }
                course.driver = Some(Driven {
                    started: *at,
                    before: self.snapshot()?,
                    after: None,
                    end: PeerEnd::default(),
                });
            }
            Event::PeerEnded(_) => {
                if let Some(driver) = &mut course.driver {
                    driver.after = Some(self.snapshot()?);
                }
                self.end_server(course);
            }
            Event::Failed(reason) => {
                course.refusal = Some(reason.clone());
                self.end_server(course);
            }
            _ => {}
        }
        Ok(())
    }

    /// Terminate the server, unless that was already requested.
    fn end_server(&self, course: &mut Course) {
        if !matches!(course.stage, Stage::Ending) {
            self.ask_to_end();
            course.stage = Stage::Ending;
        }
    }

    /// Start the driver when the server is ready; end the server when it took too long.
    fn check_readiness(&mut self, course: &mut Course, server: &ServerOptions) {
        let Stage::Awaiting(readiness, until_ns) = &course.stage else {
            return;
        };
        if let Some(ready) = readiness.since() {
            course.ready_at_ns = Some(ready.monotonic_ns);
            let driver = &server.driver;
            let request = self.room.start_peer_request(driver, true);
            let streams = [driver.output.as_fd(), driver.error.as_fd()];
            // If the first process is gone, the next read of the channel fails.
            let _ = self.room.init.channel.send(&request, &streams);
            course.stage = Stage::Driving;
        } else if *until_ns <= Instants::now().monotonic_ns {
            self.end_server(course);
        }
    }
}

impl Course {
    fn begin(server: &ServerOptions, started: Instants) -> Result<Self> {
        let address = SocketAddr::new(SUBJECT_V4.address, server.port);
        let patience_ns = u64::try_from(server.ready_timeout.as_nanos()).unwrap_or(u64::MAX);
        let until_ns = started.monotonic_ns.saturating_add(patience_ns);
        Ok(Self {
            stage: Stage::Awaiting(Readiness::watch(address)?, until_ns),
            ready_at_ns: None,
            driver: None,
            refusal: None,
            is_interrupted: false,
        })
    }
}
