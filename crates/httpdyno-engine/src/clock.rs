//! `clock`: serves the time of this machine, so that generators on several machines start at one moment.
//!
//! It answers what an origin answers at its reserved path, without a web.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use dyno_origin::CONTROL_PATH;
use serde_json::json;

use crate::control::message::{ControlRequest, ControlResponse, Messages, PROTOCOL};
use crate::control::{clock_answer, refusal};
use crate::messages::{UsageError, system_message};
use crate::usage::HELP;

/// The default address: other machines cannot reach it.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8090);
/// Time without a request after which a visitor is disconnected.
const LEASE: Duration = Duration::from_secs(30);
/// Visitors at once; further ones are disconnected.
const MOST_VISITORS: usize = 1024;
/// Pause after a failed accept, as when no descriptor is left.
const PAUSE: Duration = Duration::from_millis(50);

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno clock --listen 0.0.0.0:8090   for load --clock http://HOST:8090";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE)]
pub struct Arguments {
    /// Address and port; 0.0.0.0 for all addresses of this machine, port 0 for a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = LISTEN)]
    listen: SocketAddr,
}

/// Serves until a signal ends the process, which has nothing to clean up.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let listen = arguments.listen;
    let listener = TcpListener::bind(listen).map_err(|error| {
        let reason = system_message(&error);
        UsageError::new(format_args!(
            "--listen {listen}: {reason}; choose another address or port"
        ))
    })?;
    let address = listener.local_addr().context("--listen")?;
    eprintln!("clock on http://{address}");
    let count = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(PAUSE);
            continue;
        };
        if count.fetch_add(1, Ordering::Relaxed) >= MOST_VISITORS {
            count.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let counter = count.clone();
        let thread = thread::Builder::new().name("clock".to_owned());
        let started = thread.spawn(move || {
            // A visitor may leave in any way.
            drop(serve(stream));
            counter.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn serve(stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LEASE))?;
    stream.set_write_timeout(Some(LEASE))?;
    let mut messages = Messages::new(stream, Vec::new(), LEASE);
    while let Some(request) = messages.read_request()? {
        messages.answer(&answer(&request), "application/json")?;
    }
    Ok(())
}

fn answer(request: &ControlRequest) -> ControlResponse {
    let path = request.target.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path.strip_prefix(CONTROL_PATH)) {
        ("GET", Some("clock")) => clock_answer(),
        ("GET", Some("identity")) => {
            let identity = json!({"protocol": PROTOCOL, "version": env!("CARGO_PKG_VERSION")});
            ControlResponse {
                status: 200,
                content: identity.to_string().into_bytes(),
            }
        }
        _ => refusal(404, "serves the time alone: httpdyno clock"),
    }
}
