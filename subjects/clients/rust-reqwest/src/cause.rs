//! The name of an error: the library's name of its innermost cause.

use std::error::Error;
use std::io;

/// The name of the innermost cause: `ConnectionRefused` of the system, `hyper.Error.IncompleteMessage`,
/// `InvalidCertificate.Expired` of rustls.
pub fn name(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "TimedOut".to_owned();
    }
    let mut cause: &(dyn Error + 'static) = error;
    while let Some(inner) = inner(cause) {
        cause = inner;
    }
    match cause.downcast_ref::<io::Error>() {
        Some(error) => format!("{:?}", error.kind()),
        None => identifiers(&format!("{cause:?}")).unwrap_or_else(|| words(&cause.to_string())),
    }
}

/// The next inner cause. An `io::Error` that carries another error returns as its source not that error but the next
/// one.
fn inner<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref)
    {
        Some(carried) => Some(carried),
        None => error.source(),
    }
}

/// The nested names at the head of a debug text: `InvalidCertificate(Expired { .. })` is `InvalidCertificate.Expired`.
fn identifiers(debug: &str) -> Option<String> {
    let end = debug
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '(' || c == ':'))
        .unwrap_or(debug.len());
    let name = debug[..end].replace("::", ".").replace(['(', ':'], ".");
    let name = name.trim_matches('.');
    let is_telling = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name != "Error";
    is_telling.then(|| name.to_owned())
}

/// The last part of a message as one word: "failed to lookup: Name or service not known" is `NameOrServiceNotKnown`.
fn words(message: &str) -> String {
    let last = message.rsplit(": ").next().unwrap_or(message);
    let name: String = last
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| word.split_at_checked(1))
        .map(|(head, tail)| head.to_ascii_uppercase() + tail)
        .collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name
    } else {
        format!("Error{name}")
    }
}
