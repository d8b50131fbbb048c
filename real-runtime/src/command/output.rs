//! Tables for people, JSON for scripts.

use std::fmt::Write as _;
use std::io::{self, Write};

use clap::ValueEnum;
use serde_json::Value;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// For people.
    Table,
    /// One JSON value.
    Json,
}

/// Writes `json`, or the rows under `header`.
///
/// # Errors
/// When standard output is gone.
pub fn print(
    output: Output,
    json: &Value,
    header: &[&str],
    rows: &[Vec<String>],
) -> io::Result<()> {
    match output {
        Output::Table => io::stdout().write_all(table(header, rows).as_bytes()),
        Output::Json => print_json(json),
    }
}

/// Writes one JSON value.
///
/// # Errors
/// When standard output is gone.
pub fn print_json(json: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, json)?;
    writeln!(out)
}

/// Columns as wide as their widest cell, two spaces between them.
#[must_use]
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let header: Vec<String> = header.iter().map(|cell| cell.to_uppercase()).collect();
    for row in std::iter::once(&header).chain(rows) {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Numbers with commas between them, in brackets.
#[must_use]
pub fn list(numbers: &[i32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    format!("[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            vec!["a".to_owned(), "1".to_owned()],
            vec!["longer".to_owned(), "".to_owned()],
        ];
        assert_eq!(
            table(&["name", "n"], &rows),
            "NAME    N\na       1\nlonger\n"
        );
    }
}
