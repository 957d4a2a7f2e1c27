//! A lookup, in progress or finished: all requests for the same name share it, and it ends with the last of them.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::message::Family;
use crate::failure::Failure;

/// Result for one family: its addresses, possibly none, or the failure.
pub type FamilyResult = Result<Rc<[IpAddr]>, Failure>;

/// Results by [`Family::index`]; `None` before the answer.
pub(super) type Families = [Option<FamilyResult>; 2];

/// A wait for the addresses of a name.
#[derive(Debug, Clone)]
pub struct Lookup(pub(super) Rc<Flight>);

/// State that waiting requests share with the task of the query.
#[derive(Debug, Default)]
pub(super) struct Flight {
    pub families: RefCell<Families>,
    pub changed: Notify,
    pub task: RefCell<Option<AbortHandle>>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        // No request waits for the answer any more.
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Lookup {
    /// Creates a lookup with known addresses.
    #[must_use]
    pub fn of(addresses: &[IpAddr]) -> Self {
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) =
            addresses.iter().partition(|address| address.is_ipv4());
        Self::done([Some(Ok(v4.into())), Some(Ok(v6.into()))])
    }

    /// Creates a finished lookup.
    pub(super) fn done(families: Families) -> Self {
        let flight = Flight::default();
        flight.families.replace(families);
        Self(Rc::new(flight))
    }

    /// Returns the result for a family, if it is known already.
    pub(crate) fn known(&self, family: Family) -> Option<FamilyResult> {
        self.0.families.borrow()[family.index()].clone()
    }

    /// Waits for all addresses, and returns the first: of IPv4 if there is one.
    ///
    /// # Errors
    ///
    /// The failure of the lookup, or [`Failure::HostNotFound`].
    pub async fn first(&self) -> Result<IpAddr, Failure> {
        self.wait_for_more_than(1).await;
        let mut failure = Failure::HostNotFound;
        for family in Family::BOTH.into_iter().rev() {
            match self.known(family) {
                Some(Ok(addresses)) => {
                    if let Some(first) = addresses.first() {
                        return Ok(*first);
                    }
                }
                Some(Err(why)) => failure = why,
                None => {}
            }
        }
        Err(failure)
    }

    /// Waits for all addresses, and returns the one that a race tries first: of IPv6 if there is one.
    ///
    /// # Errors
    ///
    /// See [`Lookup::first`].
    pub async fn preferred(&self) -> Result<IpAddr, Failure> {
        let first = self.first().await?;
        let known = self.known(Family::V6).and_then(Result::ok);
        Ok(known.and_then(|all| all.first().copied()).unwrap_or(first))
    }

    /// Waits until more families are known than `seen`.
    pub(crate) async fn wait_for_more_than(&self, seen: usize) {
        loop {
            let changed = self.0.changed.notified();
            if self.0.families.borrow().iter().flatten().count() > seen {
                return;
            }
            changed.await;
        }
    }
}
