//! Serves the contract's endpoints with axum.

mod settings;
mod work;

use std::io;
use std::process::exit;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tower_http::timeout::TimeoutLayer;

use crate::settings::Settings;
use crate::work::{Answer, Order};

const DOCUMENT: &str = include_str!("../document.json");

fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("FRAMEWORK_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-axum: {message}");
        exit(127);
    });
    let served = runtime(settings.threads).and_then(|runtime| runtime.block_on(serve(settings)));
    if let Err(error) = served {
        eprintln!("rust-axum: {error}");
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
        served = axum::serve(listener, router(settings)) => served,
        _ = terminated.recv() => Ok(()),
    }
}

fn router(settings: Settings) -> Router {
    let mut work = get(worked).post(worked);
    if let Some(timeout) = settings.timeout {
        // Drops the handler's future, and its waits with it.
        let status = StatusCode::SERVICE_UNAVAILABLE;
        work = work.layer(TimeoutLayer::with_status_code(status, timeout));
    }
    Router::new()
        .route("/plain", get(async || "Hello, World!"))
        .route(
            "/json",
            get(async || ([(CONTENT_TYPE, "application/json")], DOCUMENT)),
        )
        .route("/", work)
        .with_state(Arc::new(settings))
}

/// Takes the bytes and not `Json<Order>`, which refuses content without a content type and answers with other codes
/// than 400.
async fn worked(
    State(settings): State<Arc<Settings>>,
    content: Bytes,
) -> Result<Json<Answer>, StatusCode> {
    let order = Order::parse(&content).ok_or(StatusCode::BAD_REQUEST)?;
    Ok(Json(order.done(&settings.workloads).await))
}
