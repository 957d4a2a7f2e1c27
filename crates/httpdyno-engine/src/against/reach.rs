//! `reach`: prints the identity of another machine's origin and the round-trip time as JSON.

use anyhow::Result;
use clap::Args;
use dyno_web::OneOrigin;
use serde_json::json;

use super::record::RoundTrips;
use super::session::Session;

#[derive(Debug, Args)]
pub struct Arguments {
    /// URL of the origin
    #[arg(value_name = "URL", value_parser = OneOrigin::parse)]
    origin: OneOrigin,
}

/// Prints the web of the origin, and the times of exchanges with it.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (mut session, identity) = Session::open(&arguments.origin)?;
    session.check_version(&identity)?;
    let exchanges_ns = session.read_clock()?.round_trips_ns;
    let web = session.require_web(&identity)?;
    let answer = json!({
        "url": arguments.origin.to_string(),
        "address": session.address().to_string(),
        "web": {
            "name": web.name,
            "seed": web.seed,
            "digest": web.digest,
        },
        "rtt": RoundTrips::new(session.connect_ns(), exchanges_ns).report(),
    });
    println!("{answer}");
    Ok(0)
}
