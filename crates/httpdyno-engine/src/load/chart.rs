//! Charts of characters: bars from blocks, lines from braille dots. No I/O.

/// A value over a part of the time.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub begin_s: f64,
    pub end_s: f64,
    pub value: f64,
}

/// Divides `span_s` seconds into `count` columns; each has the value that `combine` makes of its samples: those whose
/// middle is in it, or the one that its own middle is in.
pub fn resample(
    samples: &(impl Iterator<Item = Sample> + Clone),
    span_s: f64,
    count: usize,
    combine: fn(f64, f64) -> f64,
) -> Vec<Option<f64>> {
    let width_s = span_s / float(count);
    let contains = |begin: f64, end: f64, moment: f64| begin <= moment && moment < end;
    let value = |column: usize| {
        let (begin_s, end_s) = (width_s * float(column), width_s * float(column + 1));
        let middle_s = f64::midpoint(begin_s, end_s);
        let own = samples.clone().filter(|sample| {
            contains(begin_s, end_s, f64::midpoint(sample.begin_s, sample.end_s))
                || contains(sample.begin_s, sample.end_s, middle_s)
        });
        own.map(|sample| sample.value).reduce(combine)
    };
    (0..count).map(value).collect()
}

/// Draws bars from 0 to `top`: `height` lines of text, the highest first. A value above 0 has at least an eighth of a line.
pub fn bars(values: &[Option<f64>], top: f64, height: usize) -> Vec<String> {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let eighths = |value: f64| {
        let eighths = rounded(value / top * float(8 * height));
        if value > 0.0 { eighths.max(1) } else { 0 }
    };
    let line = |below: usize| {
        let block = |value: &Option<f64>| {
            let eighths = value.map_or(0, eighths);
            BLOCKS[eighths.saturating_sub(8 * below).min(8)]
        };
        values.iter().map(block).collect()
    };
    (0..height).rev().map(line).collect()
}

/// The values that stand before the lines of a logarithmic chart: its ends, and the powers of ten between them.
pub fn powers(low: f64, high: f64, height: usize) -> Vec<Option<f64>> {
    let mut scale = vec![None; height];
    scale[0] = Some(high);
    scale[height - 1] = Some(low);
    let mut value = 10_f64.powf(high.log10().ceil() - 1.0);
    while value > low {
        let place = place_of(value, (low, high), height) / 4;
        scale[place].get_or_insert(value);
        value /= 10.0;
    }
    scale
}

/// The row of dots of a value, from the top, four to a line.
fn place_of(value: f64, (low, high): (f64, f64), height: usize) -> usize {
    let highest = 4 * height - 1;
    let share = (value / low).ln() / (high / low).ln();
    highest - rounded(share * float(highest)).min(highest)
}

/// A character of [`lines`], and whether it has a dot of the second series.
pub type Dots = (char, bool);

/// Draws two series as lines on a logarithmic scale: `height` lines of text, the highest first. Each character has two
/// values side by side.
pub fn lines(series: [&[Option<f64>]; 2], ends: (f64, f64), height: usize) -> Vec<Vec<Dots>> {
    /// The dots of a character in braille: left and right, from the top.
    const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
    let width = series[0].len().div_ceil(2);
    let mut cells = vec![vec![(0_u8, false); width]; height];
    for (number, values) in series.into_iter().enumerate() {
        let mut previous = None;
        for (place, value) in values.iter().enumerate() {
            let row = value.map(|value| place_of(value, ends, height));
            if let Some(row) = row {
                let from: usize = previous.unwrap_or(row);
                // A steep line is drawn whole, so that it does not fall apart.
                for row in row.min(from)..=row.max(from) {
                    let cell = &mut cells[row / 4][place / 2];
                    cell.0 |= DOTS[place % 2][row % 4];
                    cell.1 |= number == 1;
                }
            }
            previous = row;
        }
    }
    let dots = |(bits, is_second): (u8, bool)| match bits {
        0 => (' ', false),
        bits => (
            char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' '),
            is_second,
        ),
    };
    cells
        .into_iter()
        .map(|line| line.into_iter().map(dots).collect())
        .collect()
}

/// The smallest round number that is at least `value`: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8
/// times a power of ten.
pub fn round_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    // A little below, so that rounding cannot make 5 to 8.
    let mut steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0].into_iter();
    let step = steps.find(|step| value <= step * power * (1.0 + 1e-9));
    step.unwrap_or(10.0) * power
}

/// The largest round number that is at most `value`, of the same numbers.
pub fn round_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let mut steps = [8.0, 6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.5, 1.2].into_iter();
    let step = steps.find(|step| value >= step * power * (1.0 - 1e-9));
    step.unwrap_or(1.0) * power
}

#[expect(clippy::cast_precision_loss, reason = "sizes of a terminal")]
const fn float(number: usize) -> f64 {
    number as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative numbers become 0"
)]
fn rounded(number: f64) -> usize {
    number.round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u32, value: f64) -> Sample {
        Sample {
            begin_s: f64::from(number),
            end_s: f64::from(number) + 1.0,
            value,
        }
    }

    #[test]
    fn columns_have_the_values_of_their_time() {
        let samples = [second(0, 1.0), second(1, 5.0), second(2, 3.0)];
        for (span_s, count, expected) in [
            // As many columns as seconds; more; fewer.
            (4.0, 4, vec![Some(1.0), Some(5.0), Some(3.0), None]),
            (
                3.0,
                6,
                vec![1.0, 1.0, 5.0, 5.0, 3.0, 3.0]
                    .into_iter()
                    .map(Some)
                    .collect(),
            ),
            (8.0, 4, vec![Some(5.0), Some(3.0), None, None]),
            (6.0, 1, vec![Some(5.0)]),
        ] {
            let found = resample(&samples.iter().copied(), span_s, count, f64::max);
            assert_eq!(found, expected, "{count} columns of {span_s} s");
        }
    }

    #[test]
    fn bars_reach_up_to_their_value() {
        let values = [
            Some(0.0),
            Some(0.01),
            Some(50.0),
            Some(75.0),
            Some(100.0),
            None,
        ];
        assert_eq!(bars(&values, 100.0, 2), ["   ▄█ ", " ▁███ "]);
    }

    #[test]
    fn lines_go_from_value_to_value() {
        let text = |drawn: Vec<Vec<Dots>>| -> Vec<String> {
            let line = |line: Vec<Dots>| line.into_iter().map(|(dots, _)| dots).collect();
            drawn.into_iter().map(line).collect()
        };
        let low = [Some(1.0), Some(1.0), Some(1.0), Some(1.0), None, None];
        let high = [
            Some(100.0),
            Some(100.0),
            Some(1.0),
            Some(1.0),
            None,
            Some(100.0),
        ];
        let drawn = lines([&low, &high], (1.0, 100.0), 2);
        // The second series wins a character that both have.
        assert_eq!(drawn[0][0], ('⠉', true));
        assert_eq!(drawn[1][0], ('⣀', false));
        assert!(drawn[1][1].1);
        assert_eq!(text(drawn), ["⠉⡇⠈", "⣀⣇ "]);
    }

    #[test]
    fn a_scale_has_powers_of_ten_where_there_is_room() {
        let at = |low: f64, high: f64, height| -> Vec<(usize, f64)> {
            let scale = powers(low, high, height).into_iter().enumerate();
            scale
                .filter_map(|(place, value)| Some((place, value?.round())))
                .collect()
        };
        assert_eq!(
            at(100.0, 1e6, 9),
            [(0, 1e6), (2, 1e5), (4, 1e4), (6, 1e3), (8, 100.0)]
        );
        assert_eq!(
            at(200.0, 3e4, 5),
            [(0, 3e4), (1, 1e4), (3, 1e3), (4, 200.0)]
        );
        assert_eq!(at(2.0, 5.0, 3), [(0, 5.0), (2, 2.0)]);
    }

    #[test]
    fn scales_have_round_ends() {
        for (value, below, above) in [
            (1.0, 1.0, 1.0),
            (1.01, 1.0, 1.2),
            (4.9, 4.0, 5.0),
            (5.0, 5.0, 5.0),
            (9.0, 8.0, 10.0),
            (2001.0, 2000.0, 2500.0),
            (0.07, 0.06, 0.08),
        ] {
            assert!((round_down(value) - below).abs() < 1e-9, "{value}");
            assert!((round_up(value) - above).abs() < 1e-9, "{value}");
        }
    }
}
