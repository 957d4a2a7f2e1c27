//! Which shard a command fetches: by its option, or by the variables of a Slurm array or a Kubernetes job.

use super::{MOST_SHARDS, number_of_shards};

/// The value of `--shard`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// `3/16`
    Number(u32, u32),
    /// `slurm`, or `slurm/16`
    Slurm(Option<u32>),
    /// `kubernetes/16`
    Kubernetes(u32),
}

/// Parses the value of `--shard`.
pub fn parse(text: &str) -> Result<Choice, String> {
    let wrong = || {
        format!(
            "{text:?} is not a shard; write I/N, such as 3/16, with I from 1 to N; or slurm, or kubernetes/N"
        )
    };
    match text.split_once('/') {
        None if text == "slurm" => Ok(Choice::Slurm(None)),
        None if text == "kubernetes" => Err(
            "kubernetes: a job does not state its number of completions; write it, as in kubernetes/16"
                .to_owned(),
        ),
        None => Err(wrong()),
        Some(("slurm", of)) => number_of_shards(of).map(|of| Choice::Slurm(Some(of))),
        Some(("kubernetes", of)) => number_of_shards(of).map(Choice::Kubernetes),
        Some((number, of)) => {
            let whole = |digits: &str| {
                let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
                digits.parse::<u32>().ok().filter(|_| is_number)
            };
            let (number, of) = whole(number).zip(whole(of)).ok_or_else(wrong)?;
            if of == 0 || of > MOST_SHARDS {
                return Err(format!(
                    "{text:?}: the number of shards is from 1 to {MOST_SHARDS}"
                ));
            }
            if number == 0 || number > of {
                return Err(format!("{text:?}: the shards are 1/{of} to {of}/{of}"));
            }
            Ok(Choice::Number(number, of))
        }
    }
}

impl Choice {
    /// The value of `--shard` for a list of this number of shards.
    pub fn within(self, of: u32) -> String {
        match self {
            Self::Number(number, _) if number <= of => format!("{number}/{of}"),
            Self::Number(..) if of == 1 => "1/1".to_owned(),
            Self::Number(..) => format!("1/{of} to {of}/{of}"),
            Self::Slurm(_) => format!("slurm/{of}"),
            Self::Kubernetes(_) => format!("kubernetes/{of}"),
        }
    }

    /// Returns the number of the shard, from 1, and the number of shards. `variable` reads the environment; the error is
    /// the line to print.
    pub fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> Result<(u32, u32), String> {
        let option = if matches!(self, Self::Kubernetes(_)) {
            "--shard kubernetes"
        } else {
            "--shard slurm"
        };
        let read = |name: &str| -> Result<u32, String> {
            let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
                return Err(format!(
                    "{option}: {name} is not set; the scheduler sets it for each task, outside of one write --shard I/N"
                ));
            };
            text.parse()
                .map_err(|_| format!("{option}: {name} is {text:?}, not a whole number"))
        };
        match self {
            Self::Number(number, of) => Ok((number, of)),
            Self::Slurm(None) => Self::of_array(option, read, &variable),
            Self::Slurm(Some(of)) => within(
                option,
                "SLURM_ARRAY_TASK_ID",
                read("SLURM_ARRAY_TASK_ID")?,
                of,
            ),
            Self::Kubernetes(of) => {
                let name = "JOB_COMPLETION_INDEX";
                let index = read(name)?;
                if index >= of {
                    return Err(format!(
                        "{option}/{of}: {name} is {index}, and counts from 0 to {}; write the completions of the job",
                        of - 1
                    ));
                }
                Ok((index + 1, of))
            }
        }
    }

    /// Counts the tasks of a Slurm array from its first one.
    fn of_array(
        option: &str,
        read: impl Fn(&str) -> Result<u32, String>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(u32, u32), String> {
        let (id, first) = (read("SLURM_ARRAY_TASK_ID")?, read("SLURM_ARRAY_TASK_MIN")?);
        let of = read("SLURM_ARRAY_TASK_COUNT")?;
        // Old versions of Slurm set no step.
        let step = match variable("SLURM_ARRAY_TASK_STEP") {
            Some(_) => read("SLURM_ARRAY_TASK_STEP")?,
            None => 1,
        };
        let place = id.checked_sub(first);
        let place = place.filter(|place| step > 0 && place % step == 0 && place / step < of);
        // The last task of an even array is its maximum. If it is not, tasks were left out: --array=3,7.
        let is_even = match variable("SLURM_ARRAY_TASK_MAX") {
            Some(_) => {
                let span = read("SLURM_ARRAY_TASK_MAX")?.checked_sub(first);
                step > 0 && span.is_some_and(|span| span / step + 1 == of)
            }
            None => true,
        };
        match place {
            Some(place) if is_even && (1..=MOST_SHARDS).contains(&of) => Ok((place / step + 1, of)),
            _ => Err(format!(
                "{option}: the array has {of} tasks, and task {id} of one that begins at {first} in steps of {step} has no even place; begin arrays at 1 and write slurm/N, with N shards in all"
            )),
        }
    }
}

fn within(option: &str, name: &str, number: u32, of: u32) -> Result<(u32, u32), String> {
    if (1..=of).contains(&number) {
        return Ok((number, of));
    }
    Err(format!(
        "{option}/{of}: {name} is {number}, and must be from 1 to {of}; begin the array at 1: --array=1-{of}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_written_as_its_number_and_their_number() {
        for (text, expected) in [
            ("1/1", Choice::Number(1, 1)),
            ("3/16", Choice::Number(3, 16)),
            ("100000/100000", Choice::Number(100_000, 100_000)),
            ("slurm", Choice::Slurm(None)),
            ("slurm/16", Choice::Slurm(Some(16))),
            ("kubernetes/16", Choice::Kubernetes(16)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "/",
            "3",
            "0/4",
            "5/4",
            "a/b",
            "1/0",
            "0/0",
            "-1/4",
            "+1/4",
            "1/4/4",
            "1 /4",
            "1.5/4",
            "1/100001",
            "1/99999999999",
            "slurm/0",
            "slurm/",
            "kubernetes",
            "kubernetes/0",
            "kubernetes/x",
            "Slurm",
        ] {
            let line = parse(text).unwrap_err();
            assert!(!line.contains('\n') && line.len() < 140, "{text}: {line}");
        }
    }

    #[test]
    fn the_variables_of_a_task_give_its_shard() {
        let slurm = |id, min, count, step, max| {
            let names = ["ID", "MIN", "COUNT", "STEP", "MAX"]
                .map(|name| format!("SLURM_ARRAY_TASK_{name}"));
            let values: [Option<&str>; 5] = [id, min, count, step, max];
            let set: Vec<(String, String)> = names
                .into_iter()
                .zip(values)
                .filter_map(|(name, value)| Some((name, value?.to_owned())))
                .collect();
            move |name: &str| {
                set.iter()
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            }
        };
        let array = Choice::Slurm(None);
        // --array=1-16, --array=0-15, --array=10-30:5, and Slurm without STEP and MAX.
        for (variables, expected) in [
            (
                slurm(Some("1"), Some("1"), Some("16"), Some("1"), Some("16")),
                (1, 16),
            ),
            (
                slurm(Some("16"), Some("1"), Some("16"), Some("1"), Some("16")),
                (16, 16),
            ),
            (
                slurm(Some("0"), Some("0"), Some("16"), Some("1"), Some("15")),
                (1, 16),
            ),
            (
                slurm(Some("20"), Some("10"), Some("5"), Some("5"), Some("30")),
                (3, 5),
            ),
            (slurm(Some("3"), Some("1"), Some("4"), None, None), (3, 4)),
        ] {
            assert_eq!(array.resolve(variables), Ok(expected));
        }
        // No variables, a part of them, no numbers, --array=3,7 (whose first task would have an even place), past the end.
        for variables in [
            slurm(None, None, None, None, None),
            slurm(Some("1"), None, None, None, None),
            slurm(Some(""), Some("1"), Some("4"), None, None),
            slurm(Some("x"), Some("1"), Some("4"), None, None),
            slurm(Some("3"), Some("3"), Some("2"), Some("1"), Some("7")),
            slurm(Some("7"), Some("3"), Some("2"), Some("1"), Some("7")),
            slurm(Some("7"), Some("3"), Some("2"), None, None),
            slurm(Some("1"), Some("1"), Some("4"), Some("0"), Some("4")),
            slurm(Some("1"), Some("1"), Some("0"), None, None),
            slurm(Some("0"), Some("1"), Some("4"), None, None),
        ] {
            let line = array.resolve(variables).unwrap_err();
            assert!(
                line.starts_with("--shard slurm: ") && !line.contains('\n'),
                "{line}"
            );
        }
        let fixed =
            |id| Choice::Slurm(Some(16)).resolve(slurm(id, Some("3"), Some("2"), None, None));
        assert_eq!(fixed(Some("7")), Ok((7, 16)));
        for wrong in [None, Some("0"), Some("17")] {
            assert!(fixed(wrong).is_err(), "{wrong:?}");
        }
        let job = |index: Option<&str>| {
            let index = index.map(str::to_owned);
            Choice::Kubernetes(4)
                .resolve(move |name| index.clone().filter(|_| name == "JOB_COMPLETION_INDEX"))
        };
        assert_eq!((job(Some("0")), job(Some("3"))), (Ok((1, 4)), Ok((4, 4))));
        for wrong in [None, Some(""), Some("4"), Some("-1"), Some("x")] {
            let line = job(wrong).unwrap_err();
            assert!(line.starts_with("--shard kubernetes"), "{line}");
        }
    }
}
