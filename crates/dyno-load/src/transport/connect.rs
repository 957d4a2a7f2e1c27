//! A TCP connection to one address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::net::TcpStream;

use super::{Failure, Reach, Traffic, Wire};

/// Connects; what is written later goes out at once.
///
/// # Errors
///
/// What the system said, by its name. How long it may take is the caller's affair.
pub async fn tcp(address: SocketAddr, traffic: Arc<Traffic>) -> Result<Wire, Failure> {
    let begun = Instant::now();
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| Failure::from_io(&error))?;
    let reach = Reach {
        address: address.ip(),
        round_trip: begun.elapsed(),
    };
    // A connection that has gone already says so at the first exchange.
    drop(stream.set_nodelay(true));
    Ok(Wire::new(stream, reach, traffic))
}
