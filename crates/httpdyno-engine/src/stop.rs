//! A flag that SIGINT and SIGTERM set, for verbs that have something to write before they end.

use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// A flag that SIGINT and SIGTERM set; a second signal ends the process as usual.
pub fn stop_at_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("starting")?;
    let (mut terminate, mut interrupt) = {
        let _context = runtime.enter();
        (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        )
    };
    let flag = stop.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let mut wait = || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = terminate.recv() => 128 + 15,
                        _ = interrupt.recv() => 128 + 2,
                    }
                })
            };
            wait();
            flag.store(true, Ordering::Relaxed);
            exit(wait());
        })
        .context("starting a thread")?;
    Ok(stop)
}
