//! A table with a line under its headings. On a narrow terminal it is split into several, each with the names of the
//! rows.

use super::cell::text;
use super::{Column, Kind, Surface, Table, without_controls};

/// Spaces between two columns.
const GAP: usize = 2;
/// Width of text in a pipe.
const USUAL_WIDTH: usize = 100;
/// Text on a narrower terminal is not wrapped.
const NARROWEST: usize = 20;
const BOLD: &str = "\x1b[1m";
const RESET: &str = "\x1b[0m";
/// Verdicts by colour.
const GREEN: [&str; 2] = ["VALID", "ok"];
const YELLOW: [&str; 2] = ["GENERATOR_LIMITED", "UNSTEADY"];
const RED: [&str; 2] = ["INCORRECT", "interrupted"];

/// The cells of the shown columns as text.
struct Texts<'t> {
    columns: Vec<&'t Column>,
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
}

/// Renders a table with a line under its headings, and the notes below.
pub fn render(table: &Table, surface: Surface) -> String {
    let mut texts = Texts::new(table);
    let places: Vec<usize> = (0..texts.columns.len()).collect();
    let mut names = names(&texts.columns);
    if let Some(limit) = surface
        .width
        .filter(|limit| total(&texts.widths, &places) > *limit)
    {
        texts.widths = folded(&texts, &mut names, limit);
    }
    let mut output = String::new();
    for line in table.title.lines() {
        output += &wrap_line(&without_controls(line), surface);
    }
    let groups = groups(&texts.widths, &names, &places, surface.width);
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            output.push('\n');
        }
        // In one of several groups, a row may have only its name.
        let own = &group[names.len().min(group.len())..];
        let is_shown = |row: &&Vec<String>| {
            groups.len() == 1 || own.iter().any(|place| !row[*place].is_empty())
        };
        output += &texts.lines(group, texts.rows.iter().filter(is_shown), surface);
    }
    if !table.notes.is_empty() {
        output.push('\n');
    }
    for note in table.note_lines() {
        output += &wrap_line(&note, surface);
    }
    output
}

impl<'t> Texts<'t> {
    fn new(table: &'t Table) -> Self {
        let shown: Vec<(usize, &Column)> = table.shown().collect();
        let row = |row: &Vec<super::Cell>| -> Vec<String> {
            let cells = shown.iter();
            cells
                .map(|(place, column)| text(&row[*place], column, ""))
                .collect()
        };
        let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
        let widths = shown.iter().enumerate().map(|(place, (_, column))| {
            let cells = rows.iter().map(|row| length(&row[place]));
            cells.max().unwrap_or(0).max(length(&column.name))
        });
        Self {
            widths: widths.collect(),
            columns: shown.iter().map(|(_, column)| *column).collect(),
            rows,
        }
    }

    fn lines<'r>(
        &self,
        group: &[usize],
        rows: impl Iterator<Item = &'r Vec<String>>,
        surface: Surface,
    ) -> String {
        let mut text = self.headings(group, surface);
        text += &"─".repeat(total(&self.widths, group));
        text.push('\n');
        for row in rows {
            text += &self.row(group, row, surface);
        }
        text
    }

    fn headings(&self, group: &[usize], surface: Surface) -> String {
        let mut text = String::new();
        for (number, &place) in group.iter().enumerate() {
            let heading = &self.columns[place].name;
            let is_last = number + 1 == group.len();
            let width = if is_last { 0 } else { self.widths[place] };
            let padded = format!("{heading:<width$}");
            let gap = match (is_last, surface.has_colour) {
                (true, _) => String::new(),
                (false, true) => format!("{BOLD} {RESET} "),
                (false, false) => "  ".to_owned(),
            };
            if surface.has_colour {
                text.extend([BOLD, padded.as_str(), RESET]);
            } else {
                text.push_str(&padded);
            }
            text.push_str(&gap);
        }
        text + "\n"
    }

    /// Renders a row; a text that is wider than its column takes several lines.
    fn row(&self, group: &[usize], row: &[String], surface: Surface) -> String {
        let cells: Vec<Vec<String>> = group
            .iter()
            .map(|&place| wrap_cell(&row[place], self.widths[place]))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1).max(1);
        let mut text = String::new();
        for line in 0..height {
            let mut joined = String::new();
            for (&place, lines) in group.iter().zip(&cells) {
                let (column, width) = (self.columns[place], self.widths[place]);
                let cell = lines.get(line).map_or("", String::as_str);
                let room = " ".repeat(width.saturating_sub(length(cell)));
                if !joined.is_empty() || place != group[0] {
                    joined += "  ";
                }
                let cell = coloured(cell, &row[place], column, surface);
                joined += &if column.is_right_aligned() {
                    room + &cell
                } else {
                    cell + &room
                };
            }
            text += joined.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Colours a verdict.
fn coloured(cell: &str, whole: &str, column: &Column, surface: Surface) -> String {
    if !surface.has_colour || !column.is_verdict || cell.is_empty() {
        return cell.to_owned();
    }
    let colour = if GREEN.contains(&whole) {
        32
    } else if YELLOW.contains(&whole) {
        33
    } else if RED.contains(&whole) {
        31
    } else {
        return cell.to_owned();
    };
    format!("\x1b[{colour}m{cell}{RESET}")
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn total(widths: &[usize], places: &[usize]) -> usize {
    let all: usize = places.iter().map(|place| widths[*place] + GAP).sum();
    all.saturating_sub(GAP)
}

/// The columns that name a row: the leading texts, else the first column.
fn names(columns: &[&Column]) -> Vec<usize> {
    let texts = columns
        .iter()
        .take_while(|column| column.kind == Kind::Text)
        .count();
    (0..texts.max(1).min(columns.len())).collect()
}

/// Column widths at which each column fits next to the names of its row, if wrapping texts is enough for that.
///
/// Headings, verdicts, and words of up to half of the terminal are not broken. If the names of a row leave too little
/// room, the last of them are treated as ordinary columns.
fn folded(texts: &Texts, names: &mut Vec<usize>, limit: usize) -> Vec<usize> {
    let mut folded = texts.widths.clone();
    let least: Vec<usize> = (0..texts.columns.len())
        .map(|place| least_width(texts, place, limit))
        .collect();
    let others = |names: &[usize]| -> Vec<usize> {
        (0..least.len())
            .filter(|place| !names.contains(place))
            .collect()
    };
    let widest = |names: &[usize]| {
        let widths = others(names).into_iter().map(|place| least[place] + GAP);
        widths.max().unwrap_or(0)
    };
    while names.len() > 1 && limit > NARROWEST && total(&least, names) + widest(names) > limit {
        names.pop();
    }
    let mut widest_first = names.clone();
    widest_first.sort_by_key(|place| std::cmp::Reverse(texts.widths[*place]));
    for place in widest_first {
        let excess = (total(&folded, names) + widest(names)).saturating_sub(limit);
        folded[place] -= excess.min(texts.widths[place] - least[place]);
    }
    for place in others(names) {
        let room = limit.saturating_sub(total(&folded, names) + GAP);
        folded[place] = texts.widths[place].min(least[place].max(room));
    }
    folded
}

fn least_width(texts: &Texts, place: usize, limit: usize) -> usize {
    let column = texts.columns[place];
    if column.kind != Kind::Text || column.is_verdict {
        return texts.widths[place];
    }
    let words = texts
        .rows
        .iter()
        .flat_map(|row| row[place].split_whitespace());
    let longest = words.map(|word| length(word).min(limit / 2)).max();
    longest.unwrap_or(0).max(length(&column.name))
}

/// Splits the columns into groups that fit; each begins with the names of the rows.
fn groups(
    widths: &[usize],
    names: &[usize],
    places: &[usize],
    limit: Option<usize>,
) -> Vec<Vec<usize>> {
    let Some(limit) = limit.filter(|limit| total(widths, places) > *limit) else {
        return vec![places.to_vec()];
    };
    let used: usize = names.iter().map(|place| widths[*place] + GAP).sum();
    let room = (limit + GAP).saturating_sub(used);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut left = 0;
    for &place in &places[names.len()..] {
        let width = widths[place] + GAP;
        match groups.last_mut() {
            Some(group) if width <= left => group.push(place),
            _ => {
                groups.push([names, &[place]].concat());
                left = room;
            }
        }
        left = left.saturating_sub(width);
    }
    if groups.is_empty() {
        groups.push(places.to_vec());
    }
    groups
}

/// Wraps a text between words; a word longer than the width is cut.
fn wrap_cell(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    for line in &mut lines {
        if length(line) > width {
            *line = line.chars().take(width.saturating_sub(1)).collect();
            line.push('…');
        }
    }
    lines
}

/// Wraps a line between words at the width of the terminal; in a pipe, at the default width.
fn wrap_line(line: &str, surface: Surface) -> String {
    let width = surface.width.unwrap_or(USUAL_WIDTH);
    if width < NARROWEST {
        return format!("{line}\n");
    }
    let mut text = String::new();
    let mut used = 0;
    let mut rest = line;
    while !rest.is_empty() {
        let blank = rest.len() - rest.trim_start_matches(' ').len();
        let word = rest[blank..]
            .find(' ')
            .map_or(rest.len(), |end| blank + end);
        let (spaces, letters) = rest[..word].split_at(blank);
        let longer = used + blank + length(letters);
        if letters.is_empty() {
            break; // blanks at the end of a line
        }
        if longer > width && used > 0 {
            text.push_str("\n  ");
            used = GAP;
        } else {
            text.push_str(spaces);
            used += blank;
        }
        text.push_str(letters);
        used += length(letters);
        rest = &rest[word..];
    }
    text + "\n"
}
