//! Parsing of a connection by this crate.

use dyno_http::{
    Fields, Limits, Method, Parse,
    body::{Decoder, Framing},
    request, response,
    target::Form,
};

use crate::message::{FieldList, Message, Reading, sorted};

fn fields(fields: Fields<'_>) -> FieldList {
    sorted(fields.iter().map(|field| (field.name, field.value)))
}

/// Return content and trailers of the body at the start of `wire`, and its length. `None`: refused or cut short.
fn body(framing: Framing, wire: &[u8]) -> Option<(Vec<u8>, FieldList, usize)> {
    let mut decoder = Decoder::new(framing, &Limits::default());
    let (mut content, mut at) = (Vec::new(), 0);
    while !decoder.is_done() && at < wire.len() {
        let step = decoder.decode(&wire[at..]).ok()?;
        content.extend_from_slice(&wire[at..][step.content]);
        at += step.consumed;
    }
    decoder.end_of_input().ok()?;
    Some((content, fields(decoder.trailers()), at))
}

/// Parse the requests that a server would accept.
pub fn requests(mut wire: &[u8]) -> Reading {
    let mut reading = Reading::default();
    while !wire.is_empty() && wire != b"\r\n" {
        let Ok(Parse::Complete { head, bytes }) = request::parse(wire, &Limits::default()) else {
            return Reading {
                refused: true,
                ..reading
            };
        };
        let Some((content, trailers, length)) = body(head.framing, &wire[bytes..]) else {
            return Reading {
                refused: true,
                ..reading
            };
        };
        let path = if head.target.form() == Form::Asterisk {
            "*"
        } else {
            head.target.path_and_query()
        };
        let start = format!(
            "{} {} {path}",
            head.method,
            head.target.authority().unwrap_or_default()
        );
        reading.messages.push(Message {
            start,
            fields: fields(head.fields),
            content,
            trailers,
        });
        if !head.keep_alive() || head.method == Method::Connect {
            break;
        }
        wire = &wire[bytes + length..];
    }
    reading
}

/// Parse the response that a client would accept for one request.
pub fn response(method: Method<'_>, mut wire: &[u8]) -> Reading {
    let refused = Reading {
        refused: true,
        ..Reading::default()
    };
    loop {
        let Ok(Parse::Complete { head, bytes }) = response::parse(wire, &Limits::default()) else {
            return refused;
        };
        wire = &wire[bytes..];
        if head.is_interim() {
            continue;
        }
        let Some((content, trailers, _)) = body(head.framing(method), wire) else {
            return refused;
        };
        let message = Message {
            start: head.status.to_string(),
            fields: fields(head.fields),
            content,
            trailers,
        };
        return Reading {
            messages: vec![message],
            refused: false,
        };
    }
}
