//! Serves the contract's endpoints with warp.

mod settings;
mod work;

use std::convert::Infallible;
use std::io;
use std::process::exit;
use std::sync::Arc;

use bytes::Bytes;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;
use warp::http::StatusCode;
use warp::http::header::CONTENT_TYPE;
use warp::reply::{Reply, Response, json, with_header};
use warp::{Filter, Rejection};

use crate::settings::Settings;
use crate::work::Order;

const DOCUMENT: &str = include_str!("../document.json");

fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("FRAMEWORK_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-warp: {message}");
        exit(127);
    });
    let served = runtime(settings.threads).and_then(|runtime| runtime.block_on(serve(settings)));
    if let Err(error) = served {
        eprintln!("rust-warp: {error}");
        exit(1);
    }
}

/// What `#[tokio::main]` makes, with the requested number of threads; one thread needs no scheduler between threads.
fn runtime(threads: Option<usize>) -> io::Result<Runtime> {
    let mut builder = match threads {
        Some(1) => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if let Some(threads) = threads {
        builder.worker_threads(threads);
    }
    builder.enable_all().build()
}

/// Serves until SIGTERM, and then without waiting for the requests in flight.
async fn serve(settings: Settings) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind((settings.host, settings.port)).await?;
    tokio::select! {
        () = warp::serve(routes(settings)).incoming(listener).run() => Ok(()),
        _ = terminated.recv() => Ok(()),
    }
}

fn routes(
    settings: Settings,
) -> impl Filter<Extract = (impl Reply,), Error = Rejection> + Clone + Send + Sync {
    let settings = Arc::new(settings);
    let plain = warp::path!("plain")
        .and(warp::get())
        .map(|| "Hello, World!");
    let document = warp::path!("json")
        .and(warp::get())
        .map(|| with_header(DOCUMENT, CONTENT_TYPE, "application/json"));
    let work = warp::path::end()
        .and(warp::get().or(warp::post()).unify())
        .and(warp::body::bytes())
        .and_then(move |content: Bytes| {
            let settings = Arc::clone(&settings);
            async move { Ok::<_, Infallible>(worked(&settings, &content).await) }
        });
    plain.or(document).or(work)
}

/// Reads the bytes by itself: `warp::body::json` refuses content of another type.
async fn worked(settings: &Settings, content: &[u8]) -> Response {
    let Some(order) = Order::parse(content) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let work = order.done(&settings.workloads);
    let answer = match settings.timeout {
        None => work.await,
        // Drops the work's future, and its waits with it.
        Some(longest) => match timeout(longest, work).await {
            Ok(answer) => answer,
            Err(_) => return StatusCode::SERVICE_UNAVAILABLE.into_response(),
        },
    };
    json(&answer).into_response()
}
