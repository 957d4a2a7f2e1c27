//! A simulated web: its answers and the results of a correct client, as pure functions of seed, model and request.
//!
//! A [`Web`] is a [`Model`] (TOML, see `webs/`) with a seed. It has
//!
//! - [`Web::resolve`]: the answer of the name servers for a host name, and its delay;
//! - [`Web::connection`]: the behaviour of connections to an address;
//! - [`Web::handshake`]: the certificate, versions and faults of a TLS handshake for a host name;
//! - [`Web::answer`]: the answer of the origin server to a request;
//! - [`Web::urls`]: the URLs of the web;
//! - [`Web::expect`]: the result of a correct client for a URL;
//! - [`Web::crawl`]: the results of a recursive fetch within a host.
//!
//! Nothing here reads a clock, a file or a socket; nothing depends on floating-point functions of the platform.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod coding;
mod content;
mod crawl;
mod draw;
mod expect;
mod expectation;
mod fault;
mod fixed_path;
mod framing;
mod key_kind;
mod links;
mod listed_url;
mod listing;
mod log_normal;
mod model;
mod name;
mod normal_quantiles;
mod oddity;
mod one_origin;
mod respond;
mod robots;
mod samplers;
mod scheme;
mod site;
mod units;
mod web;

pub use address::{
    Block, CLOSED_V4, CLOSED_V6, SILENT_V4, SILENT_V6, WEB_V4, WEB_V6, numbered_addresses,
};
pub use answer::{Answer, Content, Drip, ECHO_BYTES, Request, is_echo};
pub use coding::{Accepted, Coding};
pub use content::{
    CLASSES, Class, JSON_DOCUMENT, PLAIN_DOCUMENT, STREAM_LINE, WRONG_DOCUMENT, text,
};
pub use dyno_http::HttpVersion;
pub use expectation::{Check, Expectation, Outcome, Terms};
pub use fault::{Fault, Layer};
pub use framing::Framing;
pub use key_kind::KeyKind;
pub use links::PageLink;
pub use log_normal::LogNormal;
pub use model::{Model, ModelError};
pub use oddity::{Capabilities, Capability, Oddity};
pub use one_origin::{OneOrigin, OneOriginError};
pub use scheme::Scheme;
pub use site::{Handshake, Resolution, Resolved};
pub use units::{Bytes, Nanos};
pub use web::Web;
