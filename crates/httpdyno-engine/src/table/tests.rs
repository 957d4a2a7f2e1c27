use super::*;

fn table() -> Table {
    let mut verdict = Column::new("verdict", Kind::Text);
    verdict.is_verdict = true;
    Table {
        title: "http://a.example/: closed loop".to_owned(),
        columns: vec![
            Column::new("time", Kind::Text),
            Column::new("count", Kind::Integer),
            Column::new("p50", Kind::Time),
            Column::hidden("peak_memory_bytes", Kind::Size),
            verdict,
        ],
        rows: vec![
            vec![
                Cell::Text("response time".to_owned()),
                Cell::Integer(874),
                Cell::Number(95.485_951),
                Cell::Integer(2048),
                Cell::Text("VALID".to_owned()),
            ],
            vec![
                Cell::Text("a,\"b\u{1b}".to_owned()),
                Cell::Integer(8),
                Cell::Absent,
                Cell::Absent,
                Cell::Text("INCORRECT".to_owned()),
            ],
        ],
        notes: vec![Note {
            text: "INCORRECT: _all_ of them\u{2028}".to_owned(),
            row: Some(1),
        }],
    }
}

fn rendered(format: Format) -> String {
    table().render(format, Surface::default())
}

#[test]
fn csv_has_raw_numbers_and_quotes() {
    assert_eq!(
        rendered(Format::Csv),
        "time,count,p50,peak_memory_bytes,verdict\n\
         response time,874,95.485951,2048,VALID\n\
         \"a,\"\"b\\x1b\",8,,,INCORRECT\n"
    );
}

#[test]
fn json_has_former_names_notes_and_ascii() {
    let text = rendered(Format::Json);
    let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(rows[0]["peakMemory"], 2048);
    assert_eq!(rows[1]["p50"], serde_json::Value::Null);
    assert_eq!(rows[0]["notes"], serde_json::json!([]));
    assert_eq!(rows[1]["notes"][0], "INCORRECT: _all_ of them\u{2028}");
    assert!(text.is_ascii());
    assert!(text.starts_with("[\n  {\n    \"time\": \"response time\",\n    \"count\": 874,\n"));
}

#[test]
fn plain_text_is_aligned() {
    assert_eq!(
        rendered(Format::Plain),
        "time           count      p50  verdict\n\
         response time    874  95.5 ms  VALID\n\
         a,\"b\\x1b           8        -  INCORRECT\n\
         INCORRECT: _all_ of them\\u2028\n"
    );
}

#[test]
fn markdown_syntax_is_escaped() {
    assert_eq!(
        rendered(Format::Markdown),
        "**http\\://a.example/: closed loop**\n\n\
         | time | count | p50 | verdict |\n\
         | --- | ---: | ---: | --- |\n\
         | response time | 874 | 95.5 ms | VALID |\n\
         | a,\"b\\\\x1b | 8 |  | INCORRECT |\n\n\
         - INCORRECT: \\_all\\_ of them\\\\u2028\n"
    );
}

#[test]
fn a_table_has_a_line_under_its_headings() {
    assert_eq!(
        rendered(Format::Table),
        "http://a.example/: closed loop\n\
         time           count  p50      verdict\n\
         ────────────────────────────────────────\n\
         response time    874  95.5 ms  VALID\n\
         a,\"b\\x1b           8           INCORRECT\n\n\
         INCORRECT: _all_ of them\\u2028\n"
    );
}

#[test]
fn a_narrow_terminal_gets_several_tables_with_the_names_of_the_rows() {
    let narrow = Surface {
        has_colour: false,
        width: Some(24),
    };
    assert_eq!(
        table().render(Format::Table, narrow),
        "http://a.example/:\n  closed loop\n\
         time           count\n\
         ────────────────────\n\
         response time    874\n\
         a,\"b\\x1b           8\n\n\
         time           p50\n\
         ──────────────────────\n\
         response time  95.5 ms\n\n\
         time           verdict\n\
         ────────────────────────\n\
         response time  VALID\n\
         a,\"b\\x1b       INCORRECT\n\n\
         INCORRECT: _all_ of\n  them\\u2028\n"
    );
}

#[test]
fn verdicts_and_headings_are_coloured() {
    let coloured = Surface {
        has_colour: true,
        width: Some(80),
    };
    let text = table().render(Format::Table, coloured);
    assert!(text.contains("\x1b[1mtime         \x1b[0m\x1b[1m \x1b[0m \x1b[1mcount\x1b[0m"));
    assert!(text.contains("\x1b[32mVALID\x1b[0m\n"));
    assert!(text.contains("\x1b[31mINCORRECT\x1b[0m\n"));
}
