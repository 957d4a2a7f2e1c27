//! Bare loops: the least that a server and a client of HTTP/1.1 can do. See README.md.

mod client;
mod epoll_loop;
mod process;
mod server;
mod uring_loop;

use std::net::SocketAddr;

use clap::{Parser, ValueEnum};

#[derive(Debug, Parser)]
#[command(version, about)]
enum Command {
    /// Send one prepared answer for each request, until standard input ends
    Server(ServerOptions),
    /// Send one request after another on each connection, and count answers of the right length
    Client(ClientOptions),
}

#[derive(Debug, clap::Args)]
struct ServerOptions {
    /// Address to listen on
    #[arg(default_value = "127.0.0.1:0")]
    address: SocketAddr,
    /// CPU to run on
    #[arg(long)]
    cpu: Option<usize>,
    /// Length of the content
    #[arg(long, default_value_t = 13)]
    content_bytes: usize,
    /// Send the answer from a file in memory
    #[arg(long)]
    sendfile: bool,
    /// Compare each request, count it and read the clock three times, as the origin does
    #[arg(long)]
    work: bool,
}

#[derive(Debug, clap::Args)]
struct ClientOptions {
    /// Address of the server
    address: SocketAddr,
    /// Path to ask for; its answer must have a Content-Length
    #[arg(long, default_value = "/plain")]
    path: String,
    /// CPU to run on
    #[arg(long)]
    cpu: Option<usize>,
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long to ask
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// How to wait for answers
    #[arg(long = "loop", value_enum, default_value_t = Loop::Epoll)]
    kind: Loop,
    /// epoll: sleep so long after fewer than 16 answers came at once
    #[arg(long, default_value_t = 0)]
    rest_us: u64,
    /// io_uring: wait for so many completions
    #[arg(long, default_value_t = 1)]
    wait_for: usize,
    /// io_uring: but no longer than this, if it is not 0
    #[arg(long, default_value_t = 0)]
    wait_us: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Loop {
    Epoll,
    Uring,
}

fn main() -> anyhow::Result<()> {
    match Command::parse() {
        Command::Server(options) => server::run(&options),
        Command::Client(options) => client::run(&options),
    }
}
