//! Serves the contract's endpoints with Actix Web.

mod settings;
mod work;

use std::io;
use std::process::exit;

use actix_web::http::header::ContentType;
use actix_web::rt::signal::unix::{SignalKind, signal};
use actix_web::rt::time::timeout;
use actix_web::rt::{System, spawn};
use actix_web::web::{Bytes, Data, ServiceConfig, get, post, resource};
use actix_web::{App, HttpResponse, HttpServer};

use crate::settings::Settings;
use crate::work::Order;

const DOCUMENT: &str = include_str!("../document.json");

fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("FRAMEWORK_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-actix-web: {message}");
        exit(127);
    });
    if let Err(error) = System::new().block_on(serve(settings)) {
        eprintln!("rust-actix-web: {error}");
        exit(1);
    }
}

/// Serves until SIGTERM, and then does not wait for requests in flight, as the server's own handling of the signal
/// would.
async fn serve(settings: Settings) -> io::Result<()> {
    let mut terminated = signal(SignalKind::terminate())?;
    let settings = Data::new(settings);
    let shared = settings.clone();
    let mut server = HttpServer::new(move || App::new().app_data(shared.clone()).configure(routes));
    if let Some(threads) = settings.threads {
        // Its workers are threads, each with a runtime of its own; one more thread accepts.
        server = server.workers(threads);
    }
    let running = server
        .disable_signals()
        .bind((settings.host, settings.port))?
        .run();
    let handle = running.handle();
    spawn(async move {
        terminated.recv().await;
        handle.stop(false).await;
    });
    running.await
}

fn routes(app: &mut ServiceConfig) {
    let plain = || async {
        HttpResponse::Ok()
            .content_type(ContentType::plaintext())
            .body("Hello, World!")
    };
    let document = || async {
        HttpResponse::Ok()
            .content_type(ContentType::json())
            .body(DOCUMENT)
    };
    app.route("/plain", get().to(plain))
        .route("/json", get().to(document))
        .service(
            resource("/")
                .route(get().to(worked))
                .route(post().to(worked)),
        );
}

/// Takes the bytes and not `Json<Order>`, which refuses content of another type.
async fn worked(settings: Data<Settings>, content: Bytes) -> HttpResponse {
    let Some(order) = Order::parse(&content) else {
        return HttpResponse::BadRequest().finish();
    };
    let work = order.done(&settings.workloads);
    let answer = match settings.timeout {
        None => work.await,
        // Drops the work's future, and its waits with it.
        Some(longest) => match timeout(longest, work).await {
            Ok(answer) => answer,
            Err(_) => return HttpResponse::ServiceUnavailable().finish(),
        },
    };
    HttpResponse::Ok().json(answer)
}
