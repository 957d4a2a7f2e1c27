//! Stages of an open loop as people write them: `0..1000/30s,1000/2m`. No clock, no I/O.

use std::fmt::{self, Display};

use crate::arrival_process::{PerSecond, Rate, RateStage};
use crate::time_text::{parse_time_ns, write_time_ns};

/// More than anyone would write by hand, and few enough for a table.
const MOST: usize = 1000;

/// Stages that a rate goes through, one after the other: at least one, of which one sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stages(Vec<RateStage>);

impl Stages {
    /// Reads stages: `RATE/TIME` keeps a rate, `RATE..RATE/TIME` goes from one to another.
    ///
    /// # Errors
    ///
    /// The correct form of the first that is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut stages = Vec::new();
        let mut total_ns = 0_u64;
        for stage in text.split(',') {
            let stage: RateStage = read(stage.trim())?;
            total_ns = total_ns
                .checked_add(stage.over_ns)
                .ok_or("the stages take longer than 500 years")?;
            stages.push(stage);
        }
        if stages.len() > MOST {
            return Err(format!(
                "{} stages are too many: write at most {MOST}",
                stages.len()
            ));
        }
        if stages
            .iter()
            .all(|stage| stage.from.max(stage.to) == PerSecond::ZERO)
        {
            return Err("no stage sends a request: write one with a rate above 0".to_owned());
        }
        Ok(Self(stages))
    }

    /// Each of them.
    #[must_use]
    pub fn all(&self) -> &[RateStage] {
        &self.0
    }

    /// How long they take together.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.0.iter().map(|stage| stage.over_ns).sum()
    }

    /// As the law of a schedule.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate::stages(&self.0)
    }
}

fn read(text: &str) -> Result<RateStage, String> {
    let wrong = || {
        format!("{text:?} is not a stage: write RATE/TIME or RATE..RATE/TIME, such as 0..1000/30s")
    };
    let (rates, time) = text.split_once('/').ok_or_else(wrong)?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    let over_ns = parse_time_ns(time)?;
    if over_ns == 0 {
        return Err(format!(
            "{text:?} takes no time: write a stage of more than 0 s"
        ));
    }
    Ok(RateStage {
        from: PerSecond::parse_or_zero(from.trim())?,
        to: PerSecond::parse_or_zero(to.trim())?,
        over_ns,
    })
}

impl Display for RateStage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.from)?;
        if self.from != self.to {
            write!(formatter, "..{}", self.to)?;
        }
        write!(formatter, "/{}", write_time_ns(self.over_ns))
    }
}

impl Display for Stages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, stage) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(formatter, "{comma}{stage}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_read_and_written() {
        for (text, written) in [
            ("0..1000/30s,1000/2m,0/10s", "0..1000/30s,1000/2m,0/10s"),
            (" 0.50 .. 2 / 90 , 7/1.5min", "0.5..2/90s,7/90s"),
            ("5..5/3600", "5/1h"),
            ("100000000/1ns", "100000000/1ns"),
        ] {
            let stages = Stages::parse(text).unwrap();
            assert_eq!(stages.to_string(), written);
            assert_eq!(Stages::parse(written), Ok(stages));
        }
        assert_eq!(
            Stages::parse("1/30s,2/2m").unwrap().duration_ns(),
            150_000_000_000
        );
    }

    #[test]
    fn a_wrong_stage_is_refused_with_the_correct_form() {
        for (text, expected) in [
            (
                "",
                "\"\" is not a stage: write RATE/TIME or RATE..RATE/TIME, such as 0..1000/30s",
            ),
            ("5/1s,", "\"\" is not a stage"),
            ("1000", "\"1000\" is not a stage"),
            ("1000/", "\"\" is not a time"),
            ("/10s", "\"\" is not a rate"),
            ("5../10s", "\"\" is not a rate"),
            (
                "1e3/10s",
                "\"1e3\" is not a rate: write requests a second, as 2000 or 0.5",
            ),
            (
                "5/10parsecs",
                "\"10parsecs\" is not a time: write 5, 2.5s, 800ms or 10m",
            ),
            (
                "5/0s",
                "\"5/0s\" takes no time: write a stage of more than 0 s",
            ),
            (
                "0/10s,0..0/5s",
                "no stage sends a request: write one with a rate above 0",
            ),
            ("200000000/1s", "is more than 100000000 a second"),
            (
                "1/200000d,1/200000d",
                "the stages take longer than 500 years",
            ),
        ] {
            let refused = Stages::parse(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
        assert!(
            Stages::parse(&"1/1s,".repeat(1001)[..5004])
                .unwrap_err()
                .contains("too many")
        );
    }
}
