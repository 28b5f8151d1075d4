//! Maps values to positions along an axis, and chooses ticks.

use super::Axis;

/// Values beyond this are not drawn: their differences overflow.
const LARGEST: f64 = 1e300;
const SMALLEST: f64 = 1e-300;

/// A span of values, of their logarithms to base 10 on a log axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

/// Ticks as shares of the axis.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticks {
    pub(super) labelled: Vec<(f64, String)>,
    pub(super) bare: Vec<f64>,
}

impl Scale {
    /// The axis's own range, or the range of the values with a margin.
    pub(super) fn new(axis: &Axis, values: impl Iterator<Item = f64>) -> Self {
        let log = axis.log;
        if let Some((a, b)) = axis.range
            && let (Some(a), Some(b)) = (coordinate(a, log), coordinate(b, log))
            && !alike(a, b)
        {
            return Self { low: a.min(b), high: a.max(b), log };
        }
        let drawable = values.filter_map(|v| coordinate(v, log));
        let span = drawable.fold(None, |span, v| {
            let (low, high) = span.unwrap_or((v, v));
            Some((v.min(low), v.max(high)))
        });
        let (low, high) = span.unwrap_or((0.0, 1.0));
        if alike(low, high) {
            let air = if log { 0.4 } else { (0.1 * low.abs()).max(f64::from(low == 0.0)) };
            let air = if air < 1e-280 { 1.0 } else { air };
            return Self { low: low - air, high: high + air, log };
        }
        let air = 0.04 * (high - low);
        // The margin must not suggest that a positive quantity can be negative.
        let floor = if low >= 0.0 && !log { 0.0 } else { f64::MIN };
        Self { low: (low - air).max(floor), high: high + air, log }
    }

    /// Exactly these ends, or a range around them if they coincide.
    pub(super) fn between(low: f64, high: f64) -> Self {
        let axis = Axis { label: String::new(), log: false, range: Some((low, high)) };
        Self::new(&axis, [low, high].into_iter())
    }

    /// The share of the axis below a value: outside of 0 to 1 beyond the ends, nothing for a
    /// value that has no place.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        // Far enough outside for any slope, near enough for arithmetic.
        let share = |v: f64| ((v - self.low) / (self.high - self.low)).clamp(-1e6, 1e6);
        coordinate(value, self.log).map(share)
    }

    /// The same, with the bottom for what is too small for a log axis.
    pub(super) fn place_or_bottom(&self, value: f64) -> Option<f64> {
        if self.log && (f64::MIN..SMALLEST).contains(&value) {
            return Some(0.0);
        }
        self.place(value)
    }

    /// As many ticks as `fits` finds room for, given the labels with their shares of the axis.
    pub(super) fn ticks(&self, fits: impl Fn(&[(f64, String)]) -> bool) -> Ticks {
        let linear = (1..=7).rev().map(|most| self.round_values(most));
        let choices: Vec<Vec<(f64, String)>> = if !self.log {
            linear.collect()
        } else if self.high - self.low < 2.0 {
            let fine = self.digits(&[1, 2, 5], 1);
            if fine.len() < 3 {
                linear.chain([fine]).collect()
            } else {
                let coarse = [self.digits(&[1, 3], 1), self.digits(&[1], 1)];
                std::iter::once(fine).chain(coarse.into_iter().filter(|c| c.len() > 1)).collect()
            }
        } else {
            let decades = (self.high - self.low) as i32;
            let coarse = (1..=decades.max(1)).map(|every| self.digits(&[1], every));
            // Two powers of ten alone are hard to interpolate.
            let few = self.digits(&[1], 1).len() < 3;
            let halves = few.then(|| self.digits(&[1, 3], 1));
            halves.into_iter().chain(coarse).collect()
        };
        let chosen = choices.iter().find(|ticks| !ticks.is_empty() && fits(ticks));
        let fallback = || choices.last().into_iter().flatten().take(1).cloned().collect();
        let bare = if self.log && self.high - self.low <= 6.0 {
            self.digits(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 1).into_iter().map(|t| t.0).collect()
        } else {
            Vec::new()
        };
        Ticks { labelled: chosen.cloned().unwrap_or_else(fallback), bare }
    }

    /// Multiples of a round step, which is the smallest with at most about `most` of them.
    fn round_values(&self, most: u32) -> Vec<(f64, String)> {
        let end = |v: f64| if self.log { 10f64.powf(v) } else { v };
        let (low, high) = (end(self.low), end(self.high));
        let step = round_step((high - low) / f64::from(most));
        if step.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Vec::new();
        }
        let slack = 1e-9 * (high - low);
        let first = ((low - slack) / step).ceil();
        let values: Vec<f64> = (0..20)
            .map(|k| (first + f64::from(k)) * step)
            .take_while(|&v| v <= high + slack)
            .collect();
        let texts = labels(&values, step);
        let place = |(v, text)| self.place(v).map(|share| (share.clamp(0.0, 1.0), text));
        values.into_iter().zip(texts).filter_map(place).collect()
    }

    /// These digits times powers of ten, at regular intervals of decades.
    fn digits(&self, digits: &[u32], every: i32) -> Vec<(f64, String)> {
        let slack = 1e-9 * (self.high - self.low);
        let decades = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = decades
            .filter(|decade| decade % every == 0)
            .flat_map(|decade| digits.iter().map(move |&digit| (digit, decade)))
            .map(|(digit, decade)| (f64::from(digit).log10() + f64::from(decade), digit, decade))
            .filter(|tick| (self.low - slack..=self.high + slack).contains(&tick.0));
        let ticks: Vec<(f64, u32, i32)> = all.collect();
        let plain = ticks.iter().all(|&(at, ..)| (-3.01..=4.01).contains(&at));
        let text = |digit: u32, decade: i32| {
            if plain || (digit == 1 && (0..=1).contains(&decade)) {
                let decimals = (-decade).max(0) as usize;
                return format!("{:.decimals$}", f64::from(digit) * 10f64.powi(decade));
            }
            let power = power_of_ten(decade);
            if digit == 1 { power } else { format!("{digit}×{power}") }
        };
        let share = |at: f64| ((at - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        ticks.iter().map(|&(at, digit, decade)| (share(at), text(digit, decade))).collect()
    }
}

fn coordinate(value: f64, log: bool) -> Option<f64> {
    if log {
        (SMALLEST..=LARGEST).contains(&value).then(|| value.log10())
    } else {
        (-LARGEST..=LARGEST).contains(&value).then_some(value)
    }
}

/// Whether two values are too close for an axis between them.
fn alike(a: f64, b: f64) -> bool {
    (a - b).abs() <= (1e-9 * a.abs().max(b.abs())).max(1e-280)
}

/// The smallest of 1, 2, 5, 10, … times a power of ten that is not below `least`.
pub(super) fn round_step(least: f64) -> f64 {
    let decade = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * decade >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// Multiples of `step`, all with the digits that tell them apart.
pub(super) fn labels(values: &[f64], step: f64) -> Vec<String> {
    let largest = values.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    let digits = |from: i32| (from - (step.log10() + 1e-9).floor() as i32).clamp(0, 12) as usize;
    if largest == 0.0 || (largest < 99_999.5 && step > 0.9e-4) {
        let decimals = digits(0);
        return values.iter().map(|v| minus(format!("{:.decimals$}", v + 0.0))).collect();
    }
    let decade = (largest.log10() + 1e-9).floor() as i32;
    let (decimals, power) = (digits(decade), power_of_ten(decade));
    let unit = 10f64.powi(decade);
    let text = |&v: &f64| {
        if v == 0.0 { "0".to_owned() } else { minus(format!("{:.decimals$}×{power}", v / unit)) }
    };
    values.iter().map(text).collect()
}

/// A real minus sign, and none before zero.
fn minus(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| matches!(c, '0' | '.')) => rest.to_owned(),
        Some(rest) => format!("−{rest}"),
        None => text,
    }
}

fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The other superscript digits stand in a row.
        c => c.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(c),
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}
