//! Serves the contract's endpoints with tide.

mod settings;
mod work;

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, exit};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use async_std::future::timeout;
use async_std::task::block_on;
use signal_hook::consts::SIGTERM;
use tide::http::mime;
use tide::{Body, Request, Response, StatusCode};

use crate::settings::Settings;
use crate::work::Order;

const DOCUMENT: &str = include_str!("../document.json");

/// The variable from which async-std reads its number of threads.
const THREAD_COUNT: &str = "ASYNC_STD_THREAD_COUNT";

fn main() {
    if env::args().any(|argument| argument == "--version") {
        println!("{}", env!("FRAMEWORK_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-tide: {message}");
        exit(127);
    });
    let served = with_threads(settings.threads).and_then(|()| block_on(serve(settings)));
    if let Err(error) = served {
        eprintln!("rust-tide: {error}");
        exit(1);
    }
}

/// Starts the program again with the number of threads in its environment, the only place from which async-std reads
/// it.
fn with_threads(threads: Option<usize>) -> io::Result<()> {
    let Some(threads) = threads.map(|threads| threads.to_string()) else {
        return Ok(());
    };
    if env::var(THREAD_COUNT).is_ok_and(|count| count == threads) {
        return Ok(());
    }
    let mut anew = Command::new(env::current_exe()?);
    Err(anew.env(THREAD_COUNT, threads).exec())
}

/// Serves until SIGTERM, and then without waiting for the requests in flight: tide has no graceful shutdown.
async fn serve(settings: Settings) -> io::Result<()> {
    signal_hook::flag::register_conditional_shutdown(SIGTERM, 0, Arc::new(AtomicBool::new(true)))?;
    let address = (settings.host.to_string(), settings.port);
    let mut app = tide::with_state(Arc::new(settings));
    app.at("/plain").get(async |_| Ok("Hello, World!"));
    app.at("/json").get(async |_| {
        let answer = Response::builder(StatusCode::Ok);
        Ok(answer.content_type(mime::JSON).body(DOCUMENT).build())
    });
    app.at("/").get(worked).post(worked);
    // The backlog is the standard library's: 128 connections.
    app.listen(address).await
}

/// Reads the bytes by itself: `Request::body_json` answers with another code than 400.
async fn worked(mut request: Request<Arc<Settings>>) -> tide::Result {
    let content = request.body_bytes().await?;
    let Some(order) = Order::parse(&content) else {
        return Ok(StatusCode::BadRequest.into());
    };
    let settings = request.state();
    let work = order.done(&settings.workloads);
    let answer = match settings.timeout {
        None => work.await,
        // Drops the work's future, and its waits with it.
        Some(longest) => match timeout(longest, work).await {
            Ok(answer) => answer,
            Err(_) => return Ok(StatusCode::ServiceUnavailable.into()),
        },
    };
    Ok(Body::from_json(&answer)?.into())
}
