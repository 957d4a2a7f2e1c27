//! Files of requests: parsed, or refused at an existing line; parsed back after writing; prepared for sending, or refused.
#![no_main]

use dyno_client::{Protocol, Proxies};
use dyno_load::{
    Requests, Shape,
    jsonl::{Described, LineError, lines},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &[u8])| {
    let (is_http2, bytes) = input;
    let mut described: Vec<Described> = match read(bytes) {
        Ok(described) => described,
        Err(error) => {
            assert!(
                (1..=bytes.split(|byte| *byte == b'\n').count())
                    .contains(&usize::try_from(error.line).unwrap())
            );
            assert!(!error.to_string().contains('\n'), "{error}");
            return;
        }
    };
    let checks = described
        .iter_mut()
        .flat_map(|one| one.checks.drain(..))
        .collect();
    // Their text may differ in the last digit.
    let weights: Vec<Option<f64>> = described.iter_mut().map(|one| one.weight.take()).collect();
    let written: Vec<u8> = described.iter().flat_map(written).collect();
    assert_eq!(read(&written).as_ref(), Ok(&described));
    for (one, weight) in described.iter_mut().zip(weights) {
        one.weight = weight;
    }

    let shape = Shape {
        method: None,
        headers: Vec::new(),
        body: None,
        path_as_is: false,
        keepalive: true,
        protocol: Protocol::ALL[usize::from(is_http2)],
        proxies: Proxies::default(),
        checks,
    };
    let count = described.len();
    match Requests::new(described, &shape) {
        Ok(requests) => {
            assert_eq!(requests.len(), count);
            assert!((1..=count).contains(&requests.servers().len()));
            assert!(requests.labels().names().len() <= count.min(1000));
        }
        Err((place, _)) => assert!(place < count || count == 0),
    }
});

fn read(text: &[u8]) -> Result<Vec<Described>, LineError> {
    lines(text).map(|line| Ok(line?.1)).collect()
}

/// Write a request without its checks. Content is what it was: text, or base64, which represents any bytes.
fn written(described: &Described) -> Vec<u8> {
    let mut value = serde_json::json!({"url": described.url, "headers": described.headers});
    if let Some(method) = &described.method {
        value["method"] = method.as_str().into();
    }
    if let Some(label) = &described.label {
        value["label"] = label.as_str().into();
    }
    match described.body.as_deref() {
        Some(bytes) if described.is_base64 => value["body_base64"] = base64(bytes).into(),
        Some(bytes) => value["body"] = std::str::from_utf8(bytes).unwrap().into(),
        None => {}
    }
    let mut line = value.to_string().into_bytes();
    line.push(b'\n');
    line
}

/// Encode base64 (RFC 4648) independently of the reader's decoder.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = DIGITS[(bits >> (18 - 6 * digit) & 63) as usize];
            text.push(if digit <= group.len() {
                char::from(value)
            } else {
                '='
            });
        }
    }
    text
}
