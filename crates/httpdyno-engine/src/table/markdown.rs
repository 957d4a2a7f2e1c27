//! Markdown: a table of GitHub's dialect, its notes as a list under it; quoted text is escaped.

use super::cell::text;
use super::{Cell, Table, without_controls};

/// Renders a table as a Markdown table.
pub fn render(table: &Table) -> String {
    let mut lines = Vec::new();
    for title in table.title.lines() {
        lines.extend([
            format!("**{}**", escaped(&without_controls(title))),
            String::new(),
        ]);
    }
    lines.push(line(table.shown().map(|(_, column)| escaped(&column.name))));
    lines.push(line(table.shown().map(|(_, column)| {
        if column.is_right_aligned() {
            "---:".to_owned()
        } else {
            "---".to_owned()
        }
    })));
    for row in &table.rows {
        lines.push(line(table.shown().map(|(place, column)| {
            let shown = text(&row[place], column, "");
            match row[place] {
                Cell::Text(_) => escaped(&shown),
                _ => shown,
            }
        })));
    }
    if !table.notes.is_empty() {
        lines.push(String::new());
        lines.extend(
            table
                .note_lines()
                .map(|note| format!("- {}", escaped(&note))),
        );
    }
    lines.join("\n") + "\n"
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

/// Escapes the syntax of Markdown and of GitHub's extensions.
fn escaped(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut safe = String::with_capacity(text.len());
    for (place, &letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).map(|place| letters[place]);
        let after = letters.get(place + 1).copied();
        let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let is_special = match letter {
            // Emphasis, code, links, tags, cells, entities, formulas.
            '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' => true,
            // An underscore within a word is literal.
            '_' => !is_word(before) || !is_word(after),
            // Bare addresses; numbered lists.
            ':' => after == Some('/') && letters.get(place + 2) == Some(&'/'),
            '.' if is_www(&letters[..place]) => true,
            '.' | ')' => {
                before.is_some_and(|letter| letter.is_ascii_digit())
                    && after.is_some_and(char::is_whitespace)
            }
            // Headings, lists, rules.
            '#' | '+' | '-' | '=' => place == 0,
            _ => false,
        };
        if is_special {
            safe.push('\\');
        }
        safe.push(letter);
        // GitHub turns an escaped @name into a mention, too; an empty comment in between prevents that.
        if letter == '@' && after.is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
            safe.push_str("<!-- -->");
        }
    }
    safe
}

fn is_www(before: &[char]) -> bool {
    before.len() >= 3
        && before[before.len() - 3..]
            .iter()
            .all(|letter| letter.eq_ignore_ascii_case(&'w'))
}
