//! Moments as people write them: RFC 3339, UTC, milliseconds.

const DAY_MS: i64 = 86_400_000;

/// `2026-11-30T20:17:27.123Z` for a number of milliseconds since 1970.
#[must_use]
pub fn rfc3339(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    let (year, month, day) = date_of(days);
    let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
    let (second, milli) = (rest / 1000 % 60, rest % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Milliseconds since 1970 of `2026-11-30`, `2026-11-30T20:17`, with `:27`, with `.123`, with
/// `Z`; `None` when it is not such a moment. All are UTC.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.splitn(3, '-');
    let mut next = || parts.next()?.parse::<i64>().ok();
    let (year, month, day) = (next()?, next()?, next()?);
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_of(year, month, day);
    // 31 February would come out as a day of March.
    if date_of(days) != (year, month, day) {
        return None;
    }
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut parts = time.splitn(3, ':');
    let hour: i64 = parts.next()?.parse().ok()?;
    let minute: i64 = parts.next()?.parse().ok()?;
    let second: i64 = parts.next().unwrap_or("0").parse().ok()?;
    let milli: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
        return None;
    }
    Some(days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1000 + milli)
}

/// Days since 1970-01-01. Source: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_of`]; same source.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for ms in [
            0,
            951_827_696_789,
            1_709_164_800_000,
            1_796_069_847_123,
            4_102_444_799_999,
        ] {
            assert_eq!(parse(&rfc3339(ms)), Some(ms), "{}", rfc3339(ms));
        }
        assert_eq!(rfc3339(1_709_164_800_000), "2024-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn shorter_moments_are_read_and_others_refused() {
        assert_eq!(parse("2026-11-30"), parse("2026-11-30T00:00:00.000Z"));
        assert_eq!(parse("2026-11-30T10:00Z"), parse("2026-11-30 10:00:00"));
        for bad in [
            "",
            "2026",
            "2026-02-30",
            "2026-11-30T25:00",
            "2026-11-30T10",
            "tomorrow",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
