//! A trial against an origin on another machine: from the connection to the record.

mod arrivals;
mod clock;
mod error;
mod poller;
mod reach;
mod record;
mod session;

use std::net::SocketAddr;

use dyno_room::Stopper;
use dyno_web::{OneOrigin, Web};

#[cfg(test)]
pub use clock::Exchange;
pub use clock::{OtherClock, Reading};
pub use error::AgainstError;
use poller::{LatestProgress, Poller};
pub use reach::{Arguments, run};
pub use record::AgainstRecord;
use record::{OriginRecord, RoundTrips};
pub use session::Session;

/// An identified origin on another machine.
#[derive(Debug)]
pub struct OtherOrigin {
    origin: OneOrigin,
    session: Session,
}

/// A trial that has begun on this origin.
#[derive(Debug)]
pub struct StartedTrial {
    origin: OneOrigin,
    session: Session,
    first: Reading,
    round_trips: RoundTrips,
}

/// A trial on this origin whose subject runs.
#[derive(Debug)]
pub struct RunningTrial {
    origin: OneOrigin,
    address: SocketAddr,
    poller: Poller,
    latest: LatestProgress,
    first: Reading,
    round_trips: RoundTrips,
}

impl OtherOrigin {
    /// Connects; refuses an origin of another version, or with another web.
    pub fn open(origin: &OneOrigin, expected: &Web) -> Result<Self, AgainstError> {
        let (session, identity) = Session::open(origin)?;
        session.check(&identity, expected)?;
        Ok(Self {
            origin: origin.clone(),
            session,
        })
    }

    /// The name of the origin's host and its address, so that the subject needs no DNS.
    pub fn host(&self) -> Option<(String, std::net::IpAddr)> {
        let name = self.origin.name()?;
        Some((name.to_owned(), self.session.address().ip()))
    }

    /// Compares clocks and begins a trial.
    pub fn begin(mut self) -> Result<StartedTrial, AgainstError> {
        let compared = self.session.read_clock()?;
        self.session.begin()?;
        let round_trips = RoundTrips::new(self.session.connect_ns(), compared.round_trips_ns);
        Ok(StartedTrial {
            origin: self.origin,
            session: self.session,
            first: compared.reading,
            round_trips,
        })
    }
}

impl StartedTrial {
    /// Polls the origin while the subject runs; stops the subject if the origin is lost.
    pub fn poll(self, subject: Stopper) -> RunningTrial {
        let (address, latest) = (self.session.address(), LatestProgress::default());
        RunningTrial {
            origin: self.origin,
            address,
            poller: Poller::start(self.session, latest.clone(), subject),
            latest,
            first: self.first,
            round_trips: self.round_trips,
        }
    }
}

impl RunningTrial {
    /// Reads the origin's progress.
    pub fn watcher(&self) -> impl Fn() -> crate::progress::Counters + Send + 'static {
        let latest = self.latest.clone();
        move || latest.counters()
    }

    /// Ends the trial after the end of the subject; returns the origin's record, or why it is lost.
    pub fn end(self) -> AgainstRecord {
        let Self {
            origin,
            address,
            poller,
            first,
            mut round_trips,
            ..
        } = self;
        let record = poller.end().and_then(|mut session| {
            let (report, arrivals) = session.end()?;
            let compared = session.read_clock()?;
            round_trips.add(compared.round_trips_ns);
            Ok(OriginRecord::new(
                report,
                &arrivals,
                first,
                compared.reading,
            ))
        });
        AgainstRecord {
            origin,
            address,
            round_trips,
            record,
        }
    }
}
