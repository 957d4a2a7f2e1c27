//! A trial against an origin on another machine: from the first connection to what it saw.

mod arrivals;
mod clock;
mod error;
mod hold;
mod reach;
mod record;
mod session;

use std::net::SocketAddr;

use dyno_room::Stopper;
use dyno_web::{OneOrigin, Web};

use clock::Reading;
pub use error::AgainstError;
use hold::{Hold, Told};
pub use reach::{Arguments, run};
pub use record::AgainstRecord;
use record::{RoundTrips, Seen};
use session::Session;

/// An origin of another machine that has said who it is.
#[derive(Debug)]
pub struct OtherOrigin {
    origin: OneOrigin,
    session: Session,
}

/// A trial on it that has begun.
#[derive(Debug)]
pub struct BegunTrial {
    origin: OneOrigin,
    session: Session,
    first: Reading,
    round_trips: RoundTrips,
}

/// A trial on it whose subject runs.
#[derive(Debug)]
pub struct HeldTrial {
    origin: OneOrigin,
    address: SocketAddr,
    hold: Hold,
    told: Told,
    first: Reading,
    round_trips: RoundTrips,
}

impl OtherOrigin {
    /// Connects; refuses whoever is no origin of this version, or plays another web.
    pub fn open(origin: &OneOrigin, expected: &Web) -> Result<Self, AgainstError> {
        let (session, identity) = Session::open(origin)?;
        session.check(&identity, expected)?;
        Ok(Self {
            origin: origin.clone(),
            session,
        })
    }

    /// Its name with its address, where it has a name: the subject need not ask anybody for it.
    pub fn host(&self) -> Option<(String, std::net::IpAddr)> {
        let name = self.origin.name()?;
        Some((name.to_owned(), self.session.address().ip()))
    }

    /// Compares clocks and begins a trial.
    pub fn begin(mut self) -> Result<BegunTrial, AgainstError> {
        let (first, round_trips_ns) = self.session.read_clock()?;
        self.session.begin()?;
        let round_trips = RoundTrips::new(self.session.connect_ns(), round_trips_ns);
        Ok(BegunTrial {
            origin: self.origin,
            session: self.session,
            first,
            round_trips,
        })
    }
}

impl BegunTrial {
    /// Holds it while the subject runs, which is stopped if the origin is lost.
    pub fn hold(self, subject: Stopper) -> HeldTrial {
        let (address, told) = (self.session.address(), Told::default());
        HeldTrial {
            origin: self.origin,
            address,
            hold: Hold::start(self.session, told.clone(), subject),
            told,
            first: self.first,
            round_trips: self.round_trips,
        }
    }
}

impl HeldTrial {
    /// What watches the origin's progress.
    pub fn watcher(&self) -> impl Fn() -> crate::progress::Done + Send + 'static {
        let told = self.told.clone();
        move || told.done()
    }

    /// The subject has ended: what the origin saw, or why nobody knows.
    pub fn end(self) -> AgainstRecord {
        let Self {
            origin,
            address,
            hold,
            first,
            mut round_trips,
            ..
        } = self;
        let seen = hold.end().and_then(|mut session| {
            let (report, arrivals) = session.end()?;
            let (last, more_ns) = session.read_clock()?;
            round_trips.add(more_ns);
            Ok(Seen::new(report, &arrivals, first, last))
        });
        AgainstRecord {
            origin,
            address,
            round_trips,
            seen,
        }
    }
}
