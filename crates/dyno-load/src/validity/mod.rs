//! The validity of a load: the rules that its report must meet for its figures to describe the server.
//!
//! Pure: each rule reads one number from the measurements and compares it with a threshold.

mod drift;
pub(crate) mod student;

use crate::check::Checked;
use crate::judgement::{Finding, Judgement, Verdict};
use crate::report::Report;
use crate::time_text::format_time;

/// Send lag that is always allowed.
const ALLOWED_LAG_NS: u64 = 100_000;
/// Largest share of failed requests and connections at which the 99th percentile of the send lag still describes the
/// generator. When many requests end at once, as at a timeout, the overdue ones are sent one after another, which is
/// not the generator's fault.
const MOST_FAILED: f64 = 0.005;
/// Shortest load whose CPU shares are judged: the kernel counts CPU time in ticks of 4 or 10 ms.
const SHORTEST_NS: u64 = 1_000_000_000;
const TOO_SHORT: &str = "shares of less than 1 s are too uncertain";
const NOT_COUNTED: &str = "the generator did not count how busy it was";

/// A number in per cent, and its parts as text.
type Reading = (Option<f64>, String);

/// A rule. Its sentence contains `{number}`, `{threshold}` and `{detail}`.
struct Rule {
    name: &'static str,
    verdict: Verdict,
    threshold: f64,
    sentence: &'static str,
    read: fn(&Evidence) -> Reading,
}

/// The rules; the first broken one decides.
const RULES: [Rule; 6] = [
    Rule {
        name: "generator_waiting",
        verdict: Verdict::GeneratorLimited,
        threshold: 10.0,
        sentence: "a thread of the generator waited for its CPU for {number} of the load (at most {threshold}), and \
                   every measured time includes such waits: give it a CPU of its own (--cpus), or stop other programs",
        read: waiting,
    },
    Rule {
        name: "generator_lag",
        verdict: Verdict::GeneratorLimited,
        threshold: 10.0,
        sentence: "the generator itself sent late, by {number} of the median response time ({detail}; at most {threshold}): \
                   give it more CPUs (--cpus), or a lower rate",
        read: lag,
    },
    Rule {
        name: "generator_busy",
        verdict: Verdict::GeneratorLimited,
        threshold: 85.0,
        sentence: "a thread of the generator was busy for {number} of the load; from {threshold} on requests wait for it: \
                   give it more CPUs (--cpus), or a lower rate",
        read: busy_on_schedule,
    },
    Rule {
        name: "generator_saturated",
        verdict: Verdict::GeneratorLimited,
        threshold: 95.0,
        sentence: "a thread of the generator was busy for {number} of the load, so that the throughput is the generator's \
                   limit and not the server's; give it more CPUs (--cpus), or send at a --rate",
        read: busy_in_closed_loop,
    },
    Rule {
        name: "wrong_answers",
        verdict: Verdict::Incorrect,
        threshold: 0.5,
        sentence: "{number} of the answers are wrong ({detail}; at most {threshold})",
        read: wrong_answers,
    },
    Rule {
        name: "drift",
        verdict: Verdict::Unsteady,
        threshold: 10.0,
        sentence: "the throughput of the last third of the steady state differs from that of the first ({detail}; at \
                   most {threshold})",
        read: throughput_drift,
    },
];

/// Measurements that the rules read.
#[derive(Debug, Clone, Default)]
struct Evidence {
    open_loop: bool,
    elapsed_ns: u64,
    /// Share of the requests and connections that failed or were sent again, 0 to 1.
    failed_share: f64,
    send_lag_p99_ns: Option<u64>,
    response_p50_ns: Option<u64>,
    /// Busy share of the busiest thread, 0 to 1.
    busy_share: Option<f64>,
    /// Waiting share of the thread that waited longest for its CPU, 0 to 1.
    waiting_share: Option<f64>,
    checks: Option<Checked>,
    /// Answers in each whole second.
    answers: Vec<f64>,
}

/// Judges a load by its report.
pub(crate) fn judge(report: &Report) -> Judgement {
    judge_evidence(&evidence(report))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "seconds and counts"
)]
fn evidence(report: &Report) -> Evidence {
    let elapsed_ns = (report.elapsed_s * 1e9).round() as u64;
    let whole_s = elapsed_ns / 1_000_000_000;
    let counted = report.series.iter().filter(|second| second.at_s < whole_s);
    Evidence {
        open_loop: report.plan.rate_per_s.is_some(),
        elapsed_ns,
        failed_share: failed_share(report),
        send_lag_p99_ns: report
            .send_lag
            .as_ref()
            .filter(|times| times.count > 0)
            .map(|times| times.p99_ns),
        response_p50_ns: report
            .response()
            .map(|times| times.p50_ns)
            .filter(|median| *median > 0),
        busy_share: report.busy_share(),
        waiting_share: report.waiting_share(),
        checks: report.checks.as_ref().map(|checks| checks.counts),
        answers: counted.map(|second| second.requests as f64).collect(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn failed_share(report: &Report) -> f64 {
    // An attempt at a dead address fails no connection that opens at another, and delays the requests behind it.
    let addresses = report.addresses.iter().flatten();
    let attempts = addresses.map(|address| address.failed).sum();
    let connections = report.connections.failed.max(attempts);
    let failed = report.errors_total + report.resent + connections;
    let all = report.requests + failed;
    if all == 0 {
        return 0.0;
    }
    failed as f64 / all as f64
}

fn judge_evidence(evidence: &Evidence) -> Judgement {
    let rules: Vec<Finding> = RULES.iter().map(|rule| find(rule, evidence)).collect();
    let mut broken = rules.iter().filter(|found| found.passed == Some(false));
    let Some(first) = broken.next() else {
        return Judgement {
            verdict: Verdict::Valid,
            reason: None,
            rules,
        };
    };
    let others: Vec<String> = broken.map(short).collect();
    let mut reason = first.sentence.clone().unwrap_or_default();
    if !others.is_empty() {
        reason.push_str("; also: ");
        reason.push_str(&others.join(", "));
    }
    Judgement {
        verdict: first.verdict,
        reason: Some(reason),
        rules,
    }
}

fn find(rule: &Rule, evidence: &Evidence) -> Finding {
    let (number, detail) = (rule.read)(evidence);
    let passed = number.map(|number| number <= rule.threshold);
    let sentence = number.filter(|_| passed == Some(false)).map(|number| {
        rule.sentence
            .replace("{number}", &beyond(number, rule.threshold))
            .replace("{threshold}", &percent(rule.threshold))
            .replace("{detail}", &detail)
    });
    Finding {
        rule: rule.name,
        verdict: rule.verdict,
        threshold: rule.threshold,
        number,
        detail,
        passed,
        sentence,
    }
}

/// Name and reading of a broken rule.
fn short(found: &Finding) -> String {
    let number = beyond(found.number.unwrap_or_default(), found.threshold);
    format!(
        "{} {number} (at most {})",
        found.rule,
        percent(found.threshold)
    )
}

/// A reading beyond its threshold, with enough digits to differ from the threshold.
fn beyond(number: f64, threshold: f64) -> String {
    if percent(number) != percent(threshold) {
        percent(number)
    } else if number < threshold + 0.05 {
        format!("{number:.2} %")
    } else {
        format!("{number:.1} %")
    }
}

/// A percentage for a sentence; small ones have a decimal.
fn percent(number: f64) -> String {
    if 0.0 < number && number < 0.05 {
        "under 0.1 %".to_owned()
    } else if number >= 10.0 || number.fract() == 0.0 {
        format!("{number:.0} %")
    } else {
        format!("{number:.1} %")
    }
}

fn unknown(why: &str) -> Reading {
    (None, why.to_owned())
}

/// Share of the time in which a thread of the generator was ready to run while other programs had its CPU.
fn waiting(evidence: &Evidence) -> Reading {
    match evidence.waiting_share {
        None => unknown("the kernel did not count how long the generator waited for its CPU"),
        Some(_) if evidence.elapsed_ns < SHORTEST_NS => unknown(TOO_SHORT),
        Some(share) => (Some(100.0 * share), String::new()),
    }
}

/// Avoidable delay of sending, as a share of the median response time.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn lag(evidence: &Evidence) -> Reading {
    if !evidence.open_loop {
        return unknown("a closed loop has no schedule to be late for");
    }
    if evidence.failed_share > MOST_FAILED {
        return unknown(
            "requests failed, and the requests that waited behind them were sent at once",
        );
    }
    let (Some(late_ns), Some(median_ns)) = (evidence.send_lag_p99_ns, evidence.response_p50_ns)
    else {
        return unknown("nothing was sent on schedule");
    };
    let share = 100.0 * late_ns.saturating_sub(ALLOWED_LAG_NS) as f64 / median_ns as f64;
    let times = [late_ns, median_ns].map(|time_ns| format_time(time_ns as f64));
    (Some(share), times.join(" in "))
}

/// Busy share of the generator's busiest thread in an open loop.
fn busy_on_schedule(evidence: &Evidence) -> Reading {
    if evidence.open_loop {
        busy(evidence)
    } else {
        unknown("a closed loop sends when an answer arrives, and has no schedule to miss")
    }
}

/// Busy share of the generator's busiest thread in a closed loop.
fn busy_in_closed_loop(evidence: &Evidence) -> Reading {
    if evidence.open_loop {
        unknown("in an open loop the schedule sets the throughput")
    } else {
        busy(evidence)
    }
}

fn busy(evidence: &Evidence) -> Reading {
    match evidence.busy_share {
        None => unknown(NOT_COUNTED),
        Some(_) if evidence.elapsed_ns < SHORTEST_NS => unknown(TOO_SHORT),
        Some(share) => (Some(100.0 * share), String::new()),
    }
}

/// Share of the answers that failed a check.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn wrong_answers(evidence: &Evidence) -> Reading {
    let Some(checks) = evidence.checks else {
        return unknown("no --check defines a right answer");
    };
    let wrong = checks.wrong();
    let answers = checks.right + wrong;
    if answers == 0 {
        return unknown("there are no answers");
    }
    let share = 100.0 * wrong as f64 / answers as f64;
    (Some(share), format!("{wrong} of {answers}"))
}

/// Drift of the answers per second.
fn throughput_drift(evidence: &Evidence) -> Reading {
    if evidence.open_loop {
        return unknown("in an open loop the schedule sets the pace");
    }
    let first = evidence.answers.iter().position(|count| *count != 0.0);
    drift::read(&evidence.answers[first.unwrap_or(evidence.answers.len())..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An open loop of two seconds that kept its schedule.
    fn open() -> Evidence {
        Evidence {
            open_loop: true,
            elapsed_ns: 2_000_000_000,
            failed_share: 0.0,
            send_lag_p99_ns: Some(20_000),
            response_p50_ns: Some(1_000_000),
            busy_share: Some(0.1),
            waiting_share: Some(0.01),
            checks: None,
            answers: vec![100.0; 2],
        }
    }

    fn closed() -> Evidence {
        Evidence {
            open_loop: false,
            send_lag_p99_ns: None,
            ..open()
        }
    }

    fn broken(evidence: &Evidence) -> Vec<&'static str> {
        let judged = judge_evidence(evidence);
        let broken = judged.rules.iter().filter(|one| one.passed == Some(false));
        broken.map(|one| one.rule).collect()
    }

    #[test]
    fn the_lag_matters_as_a_share_of_the_response_time() {
        for (lag_ns, median_ns, limited) in [
            (20_000, 50_000, false),
            (100_000, 1_000, false),
            (199_000, 1_000_000, false),
            (201_000, 1_000_000, true),
            (2_000_000, 1_000_000, true),
            (2_000_000, 50_000_000, false),
        ] {
            let evidence = Evidence {
                send_lag_p99_ns: Some(lag_ns),
                response_p50_ns: Some(median_ns),
                ..open()
            };
            let expected: &[&str] = if limited { &["generator_lag"] } else { &[] };
            assert_eq!(broken(&evidence), expected, "{lag_ns} in {median_ns}");
        }
    }

    #[test]
    fn the_lag_of_a_load_with_failures_is_not_the_generators() {
        for (failed_share, rules) in [(0.005, &["generator_lag"][..]), (0.006, &[])] {
            let late = Evidence {
                failed_share,
                send_lag_p99_ns: Some(2_000_000),
                ..open()
            };
            assert_eq!(broken(&late), rules);
            // A thread that is busy or waits for its CPU still limits the load.
            let busy = Evidence {
                busy_share: Some(0.9),
                ..late
            };
            assert_eq!(broken(&busy).last(), Some(&"generator_busy"));
        }
    }

    #[test]
    fn a_busy_thread_limits_a_schedule_sooner_than_a_closed_loop() {
        for (evidence, busy, rule) in [
            (open(), 0.84, None),
            (open(), 0.86, Some("generator_busy")),
            (closed(), 0.94, None),
            (closed(), 0.99, Some("generator_saturated")),
        ] {
            let evidence = Evidence {
                busy_share: Some(busy),
                ..evidence
            };
            assert_eq!(broken(&evidence), rule.into_iter().collect::<Vec<_>>());
            let short = Evidence {
                elapsed_ns: SHORTEST_NS - 1,
                ..evidence
            };
            assert_eq!(broken(&short), [] as [&str; 0]);
        }
    }

    #[test]
    fn a_thread_that_waits_for_its_cpu_is_the_limit() {
        for (share, rules) in [
            (None, &[][..]),
            (Some(0.09), &[]),
            (Some(0.11), &["generator_waiting"]),
        ] {
            for evidence in [open(), closed()] {
                let evidence = Evidence {
                    waiting_share: share,
                    ..evidence
                };
                assert_eq!(broken(&evidence), rules);
            }
        }
    }

    #[test]
    fn wrong_answers_make_it_incorrect() {
        let checks = |right, wrong_length| {
            Some(Checked {
                right,
                wrong_length,
                ..Checked::default()
            })
        };
        let judged = judge_evidence(&Evidence {
            checks: checks(1000, 1000),
            ..closed()
        });
        assert_eq!(judged.verdict, Verdict::Incorrect);
        assert_eq!(
            judged.reason.as_deref(),
            Some("50 % of the answers are wrong (1000 of 2000; at most 0.5 %)")
        );
        for (right, wrong) in [(1000, 0), (995, 5), (0, 0)] {
            let evidence = Evidence {
                checks: checks(right, wrong),
                ..closed()
            };
            assert_eq!(judge_evidence(&evidence).verdict, Verdict::Valid);
        }
    }

    #[test]
    fn a_closed_loop_that_slows_down_is_unsteady_and_a_ramp_is_not() {
        let answers: Vec<f64> = (0..90)
            .map(|second| f64::from(if second < 45 { 1000 } else { 500 } + second % 7))
            .collect();
        let slow = Evidence {
            elapsed_ns: 90_000_000_000,
            answers: answers.clone(),
            ..closed()
        };
        assert_eq!(judge_evidence(&slow).verdict, Verdict::Unsteady);
        let ramp = Evidence {
            open_loop: true,
            ..slow
        };
        assert_eq!(judge_evidence(&ramp).verdict, Verdict::Valid);
    }

    #[test]
    fn the_first_broken_rule_is_the_sentence_and_the_others_are_named() {
        let judged = judge_evidence(&Evidence {
            waiting_share: Some(0.5),
            busy_share: Some(0.853),
            ..open()
        });
        assert_eq!(judged.verdict, Verdict::GeneratorLimited);
        let reason = judged.reason.unwrap();
        assert!(reason.starts_with(
            "a thread of the generator waited for its CPU for 50 % of the load (at most 10 %)"
        ));
        // 85.3 % without its decimal would equal the threshold.
        assert!(
            reason.ends_with("; also: generator_busy 85.3 % (at most 85 %)"),
            "{reason}"
        );
    }

    #[test]
    fn a_percentage_has_a_decimal_where_it_is_small() {
        for (number, expected) in [
            (0.0, "0 %"),
            (0.01, "under 0.1 %"),
            (0.5, "0.5 %"),
            (2.0, "2 %"),
            (9.96, "10.0 %"),
            (12.4, "12 %"),
        ] {
            assert_eq!(percent(number), expected);
        }
    }
}
