//! An origin for a profiler, which serves until its standard input ends (`make ratios` measures the speed).
//!
//! Arguments: the CPU to pin it to, the HTTP port, the HTTPS port.

use std::io::Read;
use std::sync::Arc;

use dyno_origin::{Authority, Options, Origin};
use dyno_web::{Model, Web};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo bench` adds a flag.
    let numbers: Vec<u16> = std::env::args()
        .filter_map(|argument| argument.parse().ok())
        .collect();
    let [cpu, http, https] = numbers[..] else {
        println!(
            "serve: an origin to profile; needs three numbers: a CPU, an HTTP port and an HTTPS port"
        );
        return Ok(());
    };
    let model = Model::from_toml("name = 'plain'\nseed = 1\n[tls]\necdsa = 1.0")?;
    let web = Arc::new(Web::new(model, None));
    let authority = Arc::new(Authority::new()?);
    let origin = Origin::start(Options {
        http: vec![([127, 0, 0, 1], http).into()],
        https: vec![([127, 0, 0, 1], https).into()],
        cpus: vec![cpu.into()],
        ..Options::new(web, authority)
    })?;
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let record = origin.stop();
    println!(
        "{} requests, {} connections",
        record.report.requests, record.report.connections
    );
    Ok(())
}
