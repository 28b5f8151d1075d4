//! Parsers of numbers and file names. Their errors say what a value must be.
//!
//! Options with numbers allow values that begin with a hyphen: otherwise a negative number is taken
//! for an unknown option, and the parser never gets to say what is wrong with it.

use clap::builder::{OsStringValueParser, TypedValueParser};
use raysum::Config;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

/// A whole number within these bounds.
pub fn whole<T>(
    least: T,
    most: T,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static
where
    T: FromStr + PartialOrd + Display + Copy + Send + Sync + 'static,
{
    move |text| match text.trim().parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("must be a whole number from {least} to {most}")),
    }
}

/// A number whose bounds the library checks; `rule` is what it must be.
pub(super) fn number<T: FromStr>(
    rule: impl Display + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| text.trim().parse().map_err(|_| format!("must be {rule}"))
}

/// A number between 0 and 1, exclusive.
pub(super) fn open_unit(text: &str) -> Result<f64, String> {
    bounded(text, "must be above 0 and below 1", |value| value > 0.0 && value < 1.0)
}

/// The bounds of the noise variance.
pub(super) fn noise_bounds(text: &str) -> Result<(f64, f64), String> {
    let number = |part: &str| part.trim().parse::<f64>().ok();
    text.split_once(',')
        .and_then(|(low, high)| Some((number(low)?, number(high)?)))
        .filter(|bounds| Config::check_noise_bounds(*bounds).is_ok())
        .ok_or("write two numbers above 0, the lower one first: 1e-4,10".to_string())
}

fn bounded(text: &str, rule: &str, allowed: impl Fn(f64) -> bool) -> Result<f64, String> {
    match text.trim().parse() {
        Ok(value) if allowed(value) => Ok(value),
        Ok(_) => Err(rule.into()),
        Err(_) => Err(format!("not a number; {rule}")),
    }
}

/// The name of a file.
pub(super) fn file() -> impl TypedValueParser<Value = PathBuf> {
    named("the name of the file is empty", |_| Ok(()))
}

/// The name of a folder.
pub fn folder() -> impl TypedValueParser<Value = PathBuf> {
    named("the name of the folder is empty", |_| Ok(()))
}

/// The name of a model's file. A model is not text, so `-` for standard output is a mistake.
pub(super) fn model_file() -> impl TypedValueParser<Value = PathBuf> {
    named("the name of the file is empty", |name| {
        if name == "-" { Err("a model is saved to a file; give its name") } else { Ok(()) }
    })
}

fn named(
    empty: &'static str,
    check: impl Fn(&OsString) -> Result<(), &'static str> + Clone + Send + Sync + 'static,
) -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(move |name| {
        if name.is_empty() {
            return Err(empty);
        }
        check(&name).map(|()| PathBuf::from(name))
    })
}

#[cfg(test)]
mod tests {
    use super::super::Args;
    use clap::error::ErrorKind;
    use clap::{Arg, Command, CommandFactory};
    use std::any::TypeId;
    use std::path::PathBuf;

    /// Calls `body` with the words that lead to each command, and the command.
    fn each_command(
        command: &Command,
        words: &[String],
        body: &mut impl FnMut(&[String], &Command),
    ) {
        body(words, command);
        for sub in command.get_subcommands() {
            let words = [words, &[sub.get_name().to_string()]].concat();
            each_command(sub, &words, body);
        }
    }

    fn takes_value(arg: &Arg) -> bool {
        arg.get_action().takes_values()
    }

    fn is_path(arg: &Arg) -> bool {
        arg.get_value_parser().type_id() == TypeId::of::<PathBuf>()
    }

    fn error(words: &[String], more: &[&str]) -> clap::Error {
        let line = words.iter().map(String::as_str).chain(more.iter().copied());
        Args::command().try_get_matches_from(line).unwrap_err()
    }

    #[test]
    fn a_negative_value_is_a_value() {
        let mut seen = 0;
        each_command(&Args::command(), &["raysum".into()], &mut |words, command| {
            for arg in command
                .get_arguments()
                .filter(|a| takes_value(a) && !is_path(a) && !a.is_hide_set())
            {
                let name = format!("--{}", arg.get_long().expect("positional ones are files"));
                for value in ["-1", "-0.5", "-1e-3", "-5GB", "-inf"] {
                    let found = error(words, &[&name, value]);
                    let kind = found.kind();
                    assert_ne!(kind, ErrorKind::UnknownArgument, "{words:?} {name}: {found}");
                    assert!(!found.to_string().contains("tip:"), "{words:?} {name}: {found}");
                }
                seen += 1;
            }
        });
        assert!(seen > 60, "only {seen} options");
    }

    #[test]
    fn an_empty_name_of_a_file_is_a_sentence() {
        let mut seen = 0;
        each_command(&Args::command(), &["raysum".into()], &mut |words, command| {
            for (place, arg) in
                command.get_arguments().filter(|a| takes_value(a) && is_path(a)).enumerate()
            {
                let found = match arg.get_long() {
                    Some(name) => error(words, &[&format!("--{name}"), ""]),
                    None => error(words, &[&vec!["x"; place][..], &[""]].concat()),
                };
                let said = found.to_string();
                assert_eq!(found.kind(), ErrorKind::ValueValidation, "{words:?} {said}");
                assert!(said.contains("the name of the "), "{words:?}: {said}");
                seen += 1;
            }
        });
        assert!(seen >= 25, "only {seen} files");
    }
}
