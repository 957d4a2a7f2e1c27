//! `web`: prints the identity of a web as JSON.

use anyhow::Result;
use clap::Args;
use dyno_web::Web;
use serde_json::{Value, json};

use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
}

/// The identity of a web in reports and on standard output; webs with the same digest give the same answers.
pub fn identity(web: &Web) -> Value {
    json!({ "name": web.model().name, "seed": web.seed(), "digest": web.digest() })
}

/// Prints the identity, and the timeout for which the web's delays are planned.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let web = arguments.web.load()?;
    let mut identity = identity(&web);
    identity["timeout_ms"] = json!(web.model().timeout_ms);
    println!("{identity}");
    Ok(0)
}
