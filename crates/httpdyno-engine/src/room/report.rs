//! The report of a trial: one JSON object, version 1.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use dyno_room::Ending;
use serde_json::{Value, json};

use super::supply::SupplyRecord;
use super::web::WebRecord;
use crate::against::AgainstRecord;

/// The version of the report's format.
const VERSION: u32 = 1;

/// The results of a trial.
pub struct Report<'r> {
    /// The record of the room.
    pub ending: Ending,
    /// The record of the web; absent with another peer.
    pub origin: Option<&'r WebRecord>,
    /// The record of another machine's origin, instead of the room's web.
    pub against: Option<&'r AgainstRecord>,
    /// The record of the lines that were fed.
    pub fed: Option<SupplyRecord>,
}

impl Report<'_> {
    /// Writes the report. docs/concepts/room.md documents its keys, and docs/reference/records.md those that a trial
    /// shares.
    pub fn write(&self, path: &Path) -> Result<()> {
        let file = File::create(path).with_context(|| format!("--report {}", path.display()))?;
        let mut file = BufWriter::new(file);
        serde_json::to_writer(&mut file, &self.value()?)
            .and_then(|()| writeln!(file).map_err(serde_json::Error::io))
            .and_then(|()| file.flush().map_err(serde_json::Error::io))
            .with_context(|| format!("--report {}", path.display()))
    }

    fn value(&self) -> Result<Value> {
        let mut value = self.of_room()?;
        if let Some(against) = self.against {
            against.complete(&mut value, &self.ending);
        }
        Ok(value)
    }

    fn of_room(&self) -> Result<Value> {
        let ending = &self.ending;
        let has_web = self.origin.is_some() || self.against.is_some();
        Ok(json!({
            "version": VERSION,
            "outcome": ending.outcome,
            "reason": ending.reason,
            "subject": ending.subject,
            "engine": {
                "cpu_user_ns": ending.engine.cpu_user_ns,
                "cpu_system_ns": ending.engine.cpu_system_ns,
                "version": env!("CARGO_PKG_VERSION"),
            },
            "link": ending.link,
            "peer": ending.peer,
            "server": ending.server,
            "driver": ending.driver,
            "receive_steering": ending.receive_steering,
            "cpus": ending.cpus,
            "pressure": ending.pressure,
            "throttled_ns": ending.throttled_ns,
            "fed": self.fed,
            "web": self.origin.map(WebRecord::identity),
            "transport": has_web.then(WebRecord::transport),
            "origin": self.origin.map(WebRecord::counters).transpose()?,
            "throughput": self.origin.map_or_else(|| json!([]), WebRecord::throughput),
        }))
    }
}
