//! Times calls in this process, by the rules of Python's timeit: `HARNESS=timeit` of the subject contract.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::task::JoinSet;

const RUNS: usize = 7;
/// The duration of the warm-up, and the minimum of a run: timeit's own choice.
const ENOUGH: Duration = Duration::from_millis(200);

pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// The code and length of a URL's row: a status or the name of an error, and the bytes of content.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Answer {
    pub code: String,
    pub body_length: usize,
}

impl Answer {
    /// A status is three digits, the name of an error begins with a letter.
    fn is_error(&self) -> bool {
        !self.code.starts_with(|first: char| first.is_ascii_digit())
    }
}

/// The time of some loops, one after the other.
struct Run {
    wall_ns: i64,
    user_ns: i64,
    system_ns: i64,
}

/// Why a measurement did not finish.
enum Ended {
    /// A call ended in an error of this name.
    Call(String),
    /// The measurement could not begin.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Ended {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Times a call; a loop is one call, or several in their own tasks, awaited together.
pub struct Harness<C> {
    call: C,
    calls_per_loop: usize,
    loops: Option<u64>,
    runs: Vec<Run>,
    answers: HashMap<Answer, u64>,
}

impl<C, F> Harness<C>
where
    C: Fn() -> F,
    F: Future<Output = Answer> + Send + 'static,
{
    pub fn new(call: C, calls_per_loop: usize) -> Self {
        Self {
            call,
            calls_per_loop,
            loops: None,
            runs: Vec::with_capacity(RUNS),
            answers: HashMap::new(),
        }
    }

    /// Measures; returns the line with the result.
    pub async fn line(mut self) -> Result<Value, Error> {
        let outcome = match self.measure().await {
            Ok(()) => "ok".to_owned(),
            Err(Ended::Call(name)) => name,
            Err(Ended::Failed(error)) => return Err(error),
        };
        let each = |what: fn(&Run) -> i64| self.runs.iter().map(what).collect::<Vec<_>>();
        let answers = self.answers.iter().map(|(answer, calls)| {
            json!({"code": answer.code, "body_length": answer.body_length, "calls": calls})
        });
        Ok(json!({
            "outcome": outcome,
            "loops": self.loops,
            "calls_per_loop": self.calls_per_loop,
            "runs_ns": each(|run| run.wall_ns),
            "cpu_user_ns": each(|run| run.user_ns),
            "cpu_system_ns": each(|run| run.system_ns),
            "answers": answers.collect::<Vec<_>>(),
        }))
    }

    /// Warms up, chooses the number of loops in a run, runs.
    async fn measure(&mut self) -> Result<(), Ended> {
        let start = Instant::now();
        while start.elapsed() < ENOUGH {
            self.once().await?;
        }
        let mut number = 0;
        let loops = loop {
            let loops = number_of_loops(number);
            if i128::from(self.run(loops).await?.wall_ns) >= ENOUGH.as_nanos().cast_signed() {
                break loops;
            }
            number += 1;
        };
        self.loops = Some(loops);
        for _ in 0..RUNS {
            let run = self.run(loops).await?;
            self.runs.push(run);
        }
        Ok(())
    }

    /// Times a number of loops.
    async fn run(&mut self, loops: u64) -> Result<Run, Ended> {
        let before = getrusage(UsageWho::RUSAGE_SELF)?;
        let start = Instant::now();
        for _ in 0..loops {
            self.once().await?;
        }
        let wall = start.elapsed();
        let after = getrusage(UsageWho::RUSAGE_SELF)?;
        Ok(Run {
            wall_ns: wall.as_nanos().try_into()?,
            user_ns: (after.user_time() - before.user_time()).num_nanoseconds(),
            system_ns: (after.system_time() - before.system_time()).num_nanoseconds(),
        })
    }

    /// One loop; records its answers for verification.
    async fn once(&mut self) -> Result<(), Ended> {
        let answers = if self.calls_per_loop == 1 {
            vec![(self.call)().await]
        } else {
            let mut tasks = JoinSet::new();
            for _ in 0..self.calls_per_loop {
                tasks.spawn((self.call)());
            }
            tasks.join_all().await
        };
        let failed = answers.iter().find(|answer| answer.is_error());
        let failed = failed.map(|answer| answer.code.clone());
        for answer in answers {
            *self.answers.entry(answer).or_default() += 1;
        }
        failed.map_or(Ok(()), |name| Err(Ended::Call(name)))
    }
}

/// 1, 2, 5, 10, 20, 50 and so on, as timeit's autorange tries them.
fn number_of_loops(number: u32) -> u64 {
    [1, 2, 5][number as usize % 3] * 10_u64.pow(number / 3)
}

/// The URL of stdin: the first line that is not empty; without one, an empty text, which is not a URL.
pub async fn read_url() -> std::io::Result<Vec<u8>> {
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    while let Some(line) = lines.next_segment().await? {
        if !line.trim_ascii().is_empty() {
            return Ok(line);
        }
    }
    Ok(Vec::new())
}
