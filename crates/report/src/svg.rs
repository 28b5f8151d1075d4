//! Charts as SVG: a frame with scales and ticks, and marks that carry the text to show on hover.
//! Colours are classes, so that one drawing serves light, dark and printed pages.

use crate::text;

/// Width and height of every chart, in units of about a pixel.
pub(crate) const SIZE: (f64, f64) = (340.0, 250.0);
/// Room for labels: left, right, top, bottom.
const MARGINS: (f64, f64, f64, f64) = (54.0, 10.0, 8.0, 36.0);
/// Ticks that an axis has, roughly.
const TICKS: f64 = 5.0;

/// Where the horizontal axis is, on which histograms stand.
pub(crate) const FLOOR: f64 = SIZE.1 - MARGINS.3;

/// A range of values along a side of a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub(crate) low: f64,
    pub(crate) high: f64,
    start: f64,
    end: f64,
}

impl Scale {
    fn new((low, high): (f64, f64), start: f64, end: f64) -> Self {
        let (low, high) = widened(low, high);
        Self { low, high, start, end }
    }

    /// The place of a value; values outside are at the ends.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let share = (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        let share = if share.is_nan() { 0.5 } else { share.clamp(0.0, 1.0) };
        self.start + share * (self.end - self.start)
    }

    /// Round values inside, with their labels.
    fn ticks(&self) -> Vec<(f64, String)> {
        let span = self.high - self.low;
        if !(span.is_finite() && span > 0.0) {
            return vec![(self.low, text::number(self.low))];
        }
        let rough = span / TICKS;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last.min(first + 12))
            .map(|k| (k as f64 * step, tick(k as f64 * step, step)))
            .collect()
    }
}

/// A range that is not empty.
fn widened(low: f64, high: f64) -> (f64, f64) {
    let low = low.clamp(f64::MIN / 4.0, f64::MAX / 4.0);
    let high = high.clamp(f64::MIN / 4.0, f64::MAX / 4.0);
    if high > low {
        return (low, high);
    }
    let room = if low == 0.0 { 1.0 } else { 0.1 * low.abs() };
    (low - room, low + room)
}

fn tick(value: f64, step: f64) -> String {
    let size = value.abs().max(step);
    let short = |unit: f64, sign: &str| {
        let decimals = usize::from(step / unit < 1.0);
        format!("{:.decimals$}{sign}", value / unit)
    };
    let text = match size {
        _ if value == 0.0 => "0".to_string(),
        s if s >= 1e9 || step < 1e-4 => format!("{value:.0e}"),
        s if s >= 1e6 => short(1e6, "M"),
        s if s >= 1e4 => short(1e3, "k"),
        _ => {
            let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
            format!("{value:.decimals$}")
        }
    };
    text.replace('-', "−")
}

/// A chart under construction.
pub(crate) struct Chart {
    pub(crate) x: Scale,
    pub(crate) y: Scale,
    body: String,
    title: String,
    x_label: String,
    y_label: String,
    /// Labels of the horizontal axis, if they are not those of its values.
    categories: Option<Vec<(f64, String)>>,
    days: bool,
}

impl Chart {
    /// A chart of these ranges. Titles and labels are the user's text.
    pub(crate) fn new(title: &str, x: (f64, f64), y: (f64, f64)) -> Self {
        let (left, right, top, bottom) = MARGINS;
        Self {
            x: Scale::new(x, left, SIZE.0 - right),
            y: Scale::new(y, SIZE.1 - bottom, top),
            body: String::new(),
            title: title.into(),
            x_label: String::new(),
            y_label: String::new(),
            categories: None,
            days: false,
        }
    }

    pub(crate) fn labelled(mut self, x: &str, y: &str) -> Self {
        (self.x_label, self.y_label) = (text::label(x, 40), text::label(y, 30));
        self
    }

    /// With these labels along the horizontal axis.
    pub(crate) fn with_categories(mut self, labels: Vec<(f64, String)>) -> Self {
        self.categories = Some(labels);
        self
    }

    /// With dates along the horizontal axis, which values are days of.
    pub(crate) fn with_days(mut self, days: bool) -> Self {
        self.days = days;
        self
    }

    /// An opaque cell of a map between places, which neighbours may overlap; `share` is how dark it is.
    pub(crate) fn cell(&mut self, x: (f64, f64), y: (f64, f64), share: f64, tip: &str) {
        let (left, top) = (x.0.min(x.1), y.0.min(y.1));
        let (width, height) = ((x.1 - x.0).abs() + 0.5, (y.1 - y.0).abs() + 0.5);
        self.body += &format!(
            "<rect class=\"mark cell\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" style=\"--v:{:.0}%\"{}/>",
            100.0 * share,
            hover(tip)
        );
    }

    /// A rectangle between places; `tip` is shown on hover.
    pub(crate) fn rect(
        &mut self,
        class: &str,
        (x0, x1): (f64, f64),
        (y0, y1): (f64, f64),
        opacity: f64,
        tip: &str,
    ) {
        let (left, top) = (x0.min(x1), y0.min(y1));
        let (width, height) = ((x1 - x0).abs(), (y1 - y0).abs());
        let opacity =
            if opacity < 1.0 { format!(" fill-opacity=\"{opacity:.2}\"") } else { String::new() };
        self.body += &format!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"{opacity}{}/>",
            hover(tip)
        );
    }

    /// A line through values.
    pub(crate) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        self.body += &format!("<path class=\"{class}\" d=\"{}\"/>", self.path(points, 'M'));
    }

    /// An area between two curves over the same values.
    pub(crate) fn area(&mut self, class: &str, lower: &[(f64, f64)], upper: &[(f64, f64)]) {
        let back: Vec<(f64, f64)> = upper.iter().rev().copied().collect();
        let path = self.path(lower, 'M') + &self.path(&back, 'L');
        self.body += &format!("<path class=\"{class}\" d=\"{path}Z\"/>");
    }

    fn path(&self, points: &[(f64, f64)], first: char) -> String {
        let mut path = String::new();
        for (k, (x, y)) in points.iter().enumerate() {
            let command = if k == 0 { first } else { 'L' };
            path += &format!("{command}{:.1} {:.1}", self.x.at(*x), self.y.at(*y));
        }
        path
    }

    /// A dot at a value.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64, tip: &str) {
        self.body += &format!(
            "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"{}/>",
            self.x.at(x),
            self.y.at(y),
            hover(tip)
        );
    }

    /// The finished chart.
    pub(crate) fn finish(self) -> String {
        let (left, right, top, bottom) = MARGINS;
        let (width, height) = SIZE;
        let mut axes = String::new();
        for (value, label) in self.y.ticks() {
            let y = self.y.at(value);
            axes += &format!("<path class=\"grid\" d=\"M{left} {y:.1}H{}\"/>", width - right);
            axes += &format!(
                "<text class=\"tick end\" x=\"{}\" y=\"{:.1}\">{label}</text>",
                left - 5.0,
                y + 3.5
            );
        }
        let floor = height - bottom;
        let plain = || {
            self.x
                .ticks()
                .into_iter()
                .map(|(v, label)| (v, if self.days { date(v) } else { label }))
        };
        let labels = self.categories.clone().unwrap_or_else(|| plain().collect());
        // Long labels leave no room for all of them.
        let longest = labels.iter().map(|(_, label)| shown_length(label)).max().unwrap_or(0);
        let most = ((width - left) / (7.0 * longest.max(3) as f64)).max(1.0) as usize;
        let every = labels.len().div_ceil(most).max(1);
        for (value, label) in labels.iter().step_by(every) {
            let x = self.x.at(*value);
            axes += &format!(
                "<text class=\"tick middle\" x=\"{x:.1}\" y=\"{}\">{label}</text>",
                floor + 14.0
            );
        }
        axes += &format!("<path class=\"axis\" d=\"M{left} {floor}H{}\"/>", width - right);
        let middle = f64::midpoint(left, width - right);
        axes += &format!(
            "<text class=\"label middle\" x=\"{middle}\" y=\"{}\">{}</text>",
            height - 5.0,
            self.x_label
        );
        let centre = f64::midpoint(top, floor);
        axes += &format!(
            "<text class=\"label middle\" transform=\"translate(11 {centre}) rotate(-90)\">{}</text>",
            self.y_label
        );
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{}\">{axes}{}</svg>",
            text::long(&self.title),
            self.body
        )
    }
}

/// Characters that are shown of an escaped label.
fn shown_length(label: &str) -> usize {
    let inside = label.split('&').skip(1).map(|rest| rest.find(';').map_or(0, |end| end + 1));
    let isolates = label.chars().filter(|c| ('\u{2066}'..='\u{2069}').contains(c)).count();
    label.chars().count() - isolates - inside.sum::<usize>()
}

/// The attribute of what is shown on hover; the text is plain.
fn hover(tip: &str) -> String {
    if tip.is_empty() { String::new() } else { format!(" data-tip=\"{}\"", text::html(tip)) }
}

/// The day of a number of days since the start of 1970, by Howard Hinnant's algorithm.
pub(crate) fn date(days: f64) -> String {
    if days.is_nan() || days.abs() > 3e6 {
        return text::number(days);
    }
    let z = days.floor() as i64 + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for range in [(0.0, 1.0), (-3.2, 17.9), (1e5, 9e6), (0.001, 0.0011), (5.0, 5.0)] {
            let scale = Scale::new(range, 0.0, 100.0);
            let ticks = scale.ticks();
            assert!((2..=11).contains(&ticks.len()), "{range:?}: {ticks:?}");
            assert!(ticks.iter().all(|(v, _)| (scale.low..=scale.high).contains(v)));
        }
        let labels: Vec<String> =
            Scale::new((0.0, 1.0), 0.0, 1.0).ticks().into_iter().map(|(_, l)| l).collect();
        assert_eq!(labels, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(tick(-20_000.0, 10_000.0), "−20k");
    }

    #[test]
    fn places_are_finite_for_any_values() {
        let scale = Scale::new((f64::MIN, f64::MAX), 0.0, 10.0);
        assert!(
            [f64::MIN, 0.0, f64::MAX, f64::NAN]
                .iter()
                .all(|v| (0.0..=10.0).contains(&scale.at(*v)))
        );
        assert_eq!(Scale::new((0.0, 4.0), 0.0, 8.0).at(1.0), 2.0);
    }

    #[test]
    fn escapes_and_isolates_take_no_room() {
        assert_eq!(shown_length(&text::label("<b>&", 9)), 4);
    }

    #[test]
    fn days_are_dates() {
        assert_eq!(date(0.0), "1970-01-01");
        assert_eq!(date(19_782.5), "2024-02-29");
        assert_eq!(date(-1.0), "1969-12-31");
    }
}
