//! The name of an error: the library's name of its innermost cause.

use std::io;

/// The name of the innermost cause: `ConnectionRefused` of the system, `InvalidCertificate.Expired` of rustls,
/// `Timeout.Global` of ureq.
pub fn name(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => io_name(error),
        ureq::Error::Rustls(error) => identifiers(&format!("{error:?}")),
        ureq::Error::Tls(text) => words(text),
        other => identifiers(&format!("{other:?}")),
    }
}

/// An error of the system has a kind; an error that wraps another library's has the name of the wrapped one.
fn io_name(error: &io::Error) -> String {
    let Some(carried) = error.get_ref() else {
        return format!("{:?}", error.kind());
    };
    if let Some(inner) = carried.downcast_ref::<ureq::Error>() {
        return name(inner);
    }
    if let Some(inner) = carried.downcast_ref::<io::Error>() {
        return io_name(inner);
    }
    match carried.downcast_ref::<rustls::Error>() {
        Some(inner) => identifiers(&format!("{inner:?}")),
        // An error without a kind, such as a failed lookup, has a text.
        None => match format!("{:?}", error.kind()) {
            kind if kind == "Uncategorized" => words(last_part(&error.to_string())),
            kind => kind,
        },
    }
}

/// The nested names at the head of a debug text: `InvalidCertificate(Expired { .. })` is `InvalidCertificate.Expired`.
fn identifiers(debug: &str) -> String {
    let end = debug
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '(' || c == ':'))
        .unwrap_or(debug.len());
    let name = debug[..end].replace("::", ".").replace(['(', ':'], ".");
    let name = name.trim_matches('.');
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.to_owned()
    } else {
        words(debug)
    }
}

/// "failed to lookup address information: Name or service not known" ends with the cause.
fn last_part(message: &str) -> &str {
    message.rsplit(": ").next().unwrap_or(message)
}

/// A message as one word: "invalid dns name" is `InvalidDnsName`.
fn words(message: &str) -> String {
    let name: String = message
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
