//! One result: a line for people, or JSON for scripts.

use serde_json::{Map, Value};

/// Named figures in the order in which they are shown.
#[derive(Clone, Debug)]
pub struct Report {
    title: &'static str,
    figures: Vec<(&'static str, Value, &'static str)>,
}

impl Report {
    /// An empty report of the load `title`.
    #[must_use]
    pub fn new(title: &'static str) -> Self {
        Self {
            title,
            figures: Vec::new(),
        }
    }

    /// Adds a number, rounded to four figures; `unit` is shown to people, `key` names it in JSON.
    pub fn number(&mut self, key: &'static str, value: f64, unit: &'static str) -> &mut Self {
        let value = if value.is_finite() { value } else { 0.0 };
        self.figures.push((key, Value::from(rounded(value)), unit));
        self
    }

    /// Adds a count, exact.
    pub fn count(&mut self, key: &'static str, value: u64) -> &mut Self {
        self.figures.push((key, Value::from(value), ""));
        self
    }

    /// The line for people.
    #[must_use]
    pub fn line(&self) -> String {
        let shown = self.figures.iter().map(|(key, value, unit)| match *unit {
            "" => format!("{key} {value}"),
            unit => format!("{key} {value} {unit}"),
        });
        format!("{}: {}", self.title, shown.collect::<Vec<_>>().join(", "))
    }

    /// One JSON object.
    #[must_use]
    pub fn json(&self) -> String {
        let mut object = Map::new();
        object.insert("load".to_owned(), Value::from(self.title));
        for (key, value, _) in &self.figures {
            object.insert((*key).to_owned(), value.clone());
        }
        Value::Object(object).to_string()
    }
}

/// More figures than four claim a precision that no run here has.
fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let scale = 10f64.powf(3.0 - value.abs().log10().floor());
    if scale < 1.0 {
        value.round()
    } else {
        (value * scale).round() / scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_as_a_line_and_as_json() {
        let mut report = Report::new("produce");
        report.number("mb_s", 1234.5678, "MB/s").count("records", 7);
        assert_eq!(report.line(), "produce: mb_s 1235.0 MB/s, records 7");
        assert_eq!(
            report.json(),
            r#"{"load":"produce","mb_s":1235.0,"records":7}"#
        );
    }
}
