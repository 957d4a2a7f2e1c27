//! The work that a request asks for: waits, all at the same time.

use std::time::Duration;

use async_std::task::sleep;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

/// The contract permits the refusal of more: memory must have a bound.
const MOST_UNITS: u32 = 100;

/// The content of a request.
#[derive(Deserialize)]
pub struct Order {
    text: String,
    count: u32,
}

/// The content of its answer.
#[derive(Serialize)]
pub struct Answer {
    texts: Vec<String>,
}

impl Order {
    /// Reads the content of a request; none if it is malformed.
    pub fn parse(content: &[u8]) -> Option<Self> {
        // serde would accept an array of both in place of the object.
        let is_object = content.trim_ascii_start().starts_with(b"{");
        let order: Self = serde_json::from_slice(content).ok().filter(|_| is_object)?;
        (1..=MOST_UNITS).contains(&order.count).then_some(order)
    }

    /// Waits for every workload of every unit. If it is dropped before its end, so are its waits.
    pub async fn done(self, workloads: &[Duration]) -> Answer {
        let text = self.text.as_str();
        let units = (0..self.count).flat_map(|_| workloads);
        let texts = join_all(units.map(|&wait| workload(text, wait))).await;
        Answer { texts }
    }
}

async fn workload(text: &str, wait: Duration) -> String {
    sleep(wait).await;
    text.to_owned()
}
