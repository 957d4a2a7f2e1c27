//! Texts with placeholders: taken apart, or refused in one line; what is written is read back, and a request takes them or refuses them.
#![no_main]

use std::sync::Arc;

use dyno_client::{Protocol, Proxies};
use dyno_load::{
    Data, Pick, Preparation, Shape, Values,
    jsonl::Described,
    template::{Piece, Value, parse},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, &str)| {
    let (is_http2, text) = input;
    let data = Data::read(
        "users.csv",
        &b"user,first name\nanna,a b\nbob,\"c\nd\"\n"[..],
    )
    .unwrap();
    let columns = data.columns().to_vec();
    match parse(text, Some(&columns)) {
        Ok(pieces) => {
            let written: String = pieces
                .iter()
                .map(|piece| written(piece, &columns))
                .collect();
            assert_eq!(parse(&written, Some(&columns)).as_ref(), Ok(&pieces));
        }
        Err(reason) => assert!(text.contains("{{") && !reason.contains('\n'), "{reason}"),
    }
    let shape = Shape {
        method: None,
        headers: vec![("X-Data".to_owned(), text.to_owned())],
        body: None,
        path_as_is: false,
        keepalive: true,
        protocol: Protocol::ALL[usize::from(is_http2)],
        proxies: Proxies::default(),
        checks: Arc::default(),
    };
    let mut all = Preparation::new(&shape).with_values(Values {
        data: Some(Arc::new(data)),
        pick: Pick::Sequence,
        seed: 1,
    });
    let described = Described {
        url: format!("http://a.test/{text}"),
        body: Some(text.to_owned().into()),
        ..Described::default()
    };
    if all.add(described).is_ok() {
        assert_eq!(all.finish().unwrap().len(), 1);
    }
});

fn written(piece: &Piece, columns: &[String]) -> String {
    match piece {
        Piece::Text(text) => text.replace("{{", "{{{{"),
        Piece::Value(Value::Column(place)) => format!("{{{{{}}}}}", columns[*place]),
        Piece::Value(Value::Seq) => "{{seq}}".to_owned(),
        Piece::Value(Value::Uuid) => "{{uuid}}".to_owned(),
        Piece::Value(Value::Random { low, high }) => format!("{{{{random {low} {high}}}}}"),
        Piece::Value(Value::Now) => "{{now}}".to_owned(),
    }
}
