//! How much memory a table may take.

/// The default where the amount of free memory is unknown.
const UNKNOWN: u64 = 4 << 30;

/// Half of the memory that is free now.
pub(crate) fn half_of_free() -> u64 {
    raysum::system::available_memory().unwrap_or(UNKNOWN) / 2
}

/// A number of bytes as people write it: 500MB, 1.5 GB, 2GiB.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let power = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => Some(1.0),
        "k" | "kb" => Some(1e3),
        "m" | "mb" => Some(1e6),
        "g" | "gb" => Some(1e9),
        "t" | "tb" => Some(1e12),
        "kib" => Some(f64::from(1 << 10)),
        "mib" => Some(f64::from(1 << 20)),
        "gib" => Some(f64::from(1 << 30)),
        _ => None,
    };
    let bytes = number.parse::<f64>().ok().zip(power).map(|(number, power)| number * power);
    bytes.map(|bytes| bytes as u64).ok_or_else(|| "write it as 500MB or 2GB".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let cases = [
            ("1000", 1000),
            ("0", 0),
            ("500MB", 500_000_000),
            ("1.5 gb", 1_500_000_000),
            ("2GiB", 2 << 30),
            (" 7k", 7000),
        ];
        for (text, bytes) in cases {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "GB", "1.2.3MB", "-1", "5 apples", "1e9", "NaN"] {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
