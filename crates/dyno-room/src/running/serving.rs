//! A room whose subject is a server: awaited, driven, ended.

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

/// What has happened so far.
struct Course {
    stage: Stage,
    /// When the server accepted a connection first, on the monotonic clock.
    ready_at_ns: Option<u64>,
    driver: Option<Driven>,
    /// Why the driver could not be executed.
    refusal: Option<String>,
    is_interrupted: bool,
}

/// What is being waited for.
enum Stage {
    /// The server accepts a connection, until this moment on the monotonic clock.
    Awaiting(Readiness, u64),
    /// The driver ends.
    Driving,
    /// The server ends, which it was asked to do.
    Ending,
}

/// A driver that was started.
struct Driven {
    started: Instants,
    before: MachineSnapshot,
    /// Taken when it had ended.
    after: Option<MachineSnapshot>,
    end: PeerEnd,
}

/// Which of the room's descriptors have something to tell.
struct Told {
    by_init: bool,
    by_signal: bool,
    by_stopper: bool,
}

impl Running {
    /// Waits until the subject, a server, accepts a connection; has a driver talk to it; ends the server when the driver has ended, and
    /// then all that is left in the room; accounts.
    ///
    /// # Errors
    ///
    /// As [`Running::wait`].
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

    /// Takes the server through its stages until it has ended.
    fn run_course(&mut self, course: &mut Course, server: &ServerOptions) -> Result<SubjectEnd> {
        loop {
            let told = self.listen(&course.stage);
            if told.by_init {
                let event = self.room.init.next_event()?;
                self.note(course, &event)?;
                if let Some(end) = self.subject_end(&event)? {
                    return Ok(end);
                }
            } else if told.by_signal && self.room.signals.take().is_some()
                || told.by_stopper && self.stop.take()
            {
                course.is_interrupted = true;
                self.ask_to_end();
                course.stage = Stage::Ending;
            }
            self.end_waiting(course, server);
        }
    }

    /// Waits until something is told, or the time of this stage is over.
    fn listen(&self, stage: &Stage) -> Told {
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
        // An interrupted wait only means to look again.
        let heard = poll(&mut descriptors, timeout.as_ref()).is_ok();
        let told = |which: usize| heard && !descriptors[which].revents().is_empty();
        Told {
            by_init: told(0),
            by_signal: told(1),
            by_stopper: told(2),
        }
    }

    /// Takes note of what happened to the driver.
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

    /// Asks the server to end, unless that has been done.
    fn end_server(&self, course: &mut Course) {
        if !matches!(course.stage, Stage::Ending) {
            self.ask_to_end();
            course.stage = Stage::Ending;
        }
    }

    /// Starts the driver when the server is ready; ends the server when that took too long.
    fn end_waiting(&mut self, course: &mut Course, server: &ServerOptions) {
        let Stage::Awaiting(readiness, until_ns) = &course.stage else {
            return;
        };
        if let Some(ready) = readiness.since() {
            course.ready_at_ns = Some(ready.monotonic_ns);
            let driver = &server.driver;
            let request = self.room.start_peer_request(driver, true);
            let streams = [driver.output.as_fd(), driver.error.as_fd()];
            // A first process that is gone shows in the next look at its line.
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
