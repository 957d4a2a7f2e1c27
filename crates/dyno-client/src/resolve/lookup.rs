//! A lookup under way or done: shared by all requests for the same name, ended with the last of them.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::message::Family;
use crate::failure::Failure;

/// Result for one family: its addresses, perhaps none, or the failure.
pub type FamilyResult = Result<Rc<[IpAddr]>, Failure>;

/// By [`Family::index`]; `None` while no answer came.
pub(super) type Families = [Option<FamilyResult>; 2];

/// A wait for the addresses of a name.
#[derive(Debug, Clone)]
pub struct Lookup(pub(super) Rc<Flight>);

/// State that waiting requests share with the task that asks.
#[derive(Debug, Default)]
pub(super) struct Flight {
    pub families: RefCell<Families>,
    pub changed: Notify,
    pub task: RefCell<Option<AbortHandle>>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        // No task waits for the answer any more.
        if let Some(task) = self.task.get_mut() {
            task.abort();
        }
    }
}

impl Lookup {
    /// Addresses that are known without asking.
    #[must_use]
    pub fn of(addresses: &[IpAddr]) -> Self {
        let (v4, v6): (Vec<IpAddr>, Vec<IpAddr>) =
            addresses.iter().partition(|address| address.is_ipv4());
        Self::done([Some(Ok(v4.into())), Some(Ok(v6.into()))])
    }

    /// A lookup that has its answers already.
    pub(super) fn done(families: Families) -> Self {
        let flight = Flight::default();
        flight.families.replace(families);
        Self(Rc::new(flight))
    }

    /// Returns the result for a family, if it has one by now.
    pub(crate) fn known(&self, family: Family) -> Option<FamilyResult> {
        self.0.families.borrow()[family.index()].clone()
    }

    /// Waits until more is known than there was when `seen` families were.
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
