//! Judgements of answers, case by case.

use super::*;

fn answer(status: u16, content: &str, took_ms: u64) -> Answer {
    Answer {
        status,
        content: content.as_bytes().to_vec(),
        took: Duration::from_millis(took_ms),
    }
}

fn contract(timeout_ms: Option<u64>) -> Contract {
    Contract {
        endpoints: vec![Endpoint::Workloads],
        workloads: [500, 1000, 2000].map(Duration::from_millis).to_vec(),
        timeout: timeout_ms.map(Duration::from_millis),
        overhead: OVERHEAD,
    }
}

/// The server's timeout, the status, the content, the time in milliseconds; the judgement.
type Case<'c> = (Option<u64>, u16, &'c str, u64, Result<&'c str, &'c str>);

#[test]
fn answers_to_work_are_judged() {
    let three = "{\"texts\": [\"a\", \"a\", \"a\"], \"more\": 1}";
    let cases: [Case<'_>; 13] = [
        (None, 200, three, 2_003, Ok("3 texts after 2.003 s")),
        (None, 200, three, 9_000, Ok("3 texts after 9.000 s")),
        (
            None,
            200,
            three,
            900,
            Err("before the longest wait of 2.000 s is over"),
        ),
        (None, 500, "oops", 2_003, Err("500 instead of 200: oops")),
        (None, 200, "{", 2_003, Err("no JSON: {")),
        (None, 200, "[\"a\"]", 2_003, Err("no \"texts\": ")),
        (
            None,
            200,
            "{\"texts\": [\"a\"]}",
            2_003,
            Err("1 texts instead of 3"),
        ),
        (
            None,
            200,
            "{\"texts\": [\"a\", \"b\", \"a\"]}",
            2_003,
            Err("text 2 is \\\"b\\\" instead of \"a\""),
        ),
        (None, 503, "", 2_003, Err("503 instead of 200: nothing")),
        // Under load a server may exceed its timeout, and must then report the timeout.
        (Some(5_000), 503, "", 5_003, Ok("503 after 5.003 s")),
        (
            Some(5_000),
            503,
            "",
            2_003,
            Err("before the timeout of 5.000 s is over"),
        ),
        (Some(1_000), 503, "", 1_003, Ok("503 after 1.003 s")),
        (Some(1_000), 200, three, 2_003, Err("200 instead of 503")),
    ];
    for (timeout, status, content, took, expected) in cases {
        let answer = answer(status, content, took);
        let judged = contract(timeout).judge_work(&answer, "a", 1);
        let case = format!("{timeout:?} {status} {content} {took}: {judged:?}");
        match expected {
            Ok(evidence) => assert_eq!(judged, Ok(evidence.to_owned()), "{case}"),
            Err(evidence) => assert!(judged.unwrap_err().contains(evidence), "{case}"),
        }
    }
}

#[test]
fn an_idle_server_has_a_second_in_addition_to_the_waits() {
    let six = "{\"texts\": [\"a\", \"a\", \"a\", \"a\", \"a\", \"a\"]}";
    let contract = contract(None);
    assert!(
        contract
            .judge_idle_work(&answer(200, six, 2_900), "a", 2)
            .is_ok()
    );
    let late = contract.judge_idle_work(&answer(200, six, 7_000), "a", 2);
    assert!(late.unwrap_err().contains("not in parallel"));
}

#[test]
fn documents_are_judged() {
    let right = JSON_DOCUMENT.as_str();
    let wrong = right.replacen("123123", "123124", 1);
    let other = right.replacen("first", "worst", 1);
    let short = &right[..right.len() - 1];
    let cases = [
        (right, None),
        (&wrong, Some("[0].numbers is 123124 instead of 123123")),
        (&other, Some("16384 bytes, different from byte 30 on")),
        (short, Some("16383 bytes, different from byte 16383 on")),
        (&right[..100], Some("no JSON: ")),
        ("", Some("no JSON: nothing")),
    ];
    for (content, expected) in cases {
        let judged = judge_json(&answer(200, content, 1));
        match expected {
            None => assert!(judged.is_ok(), "{judged:?}"),
            Some(evidence) => assert!(judged.unwrap_err().contains(evidence), "{evidence}"),
        }
    }
    assert!(judge_plain(&answer(200, "Hello, World!", 1)).is_ok());
    assert!(judge_plain(&answer(200, "Hello, World!\n", 1)).is_err());
    assert!(judge_refusal(&answer(400, "", 1)).is_ok());
    assert!(judge_refusal(&answer(200, "", 1)).is_err());
}
