//! Data flows one way: a file may import only what stands before it in this list.

use std::path::{Path, PathBuf};

/// The order of the modules, and what none of them may be ahead of.
const ORDER: [&str; 29] = [
    "limits",
    "error",
    "memory",
    "named",
    "file",
    "rng",
    "optimize",
    "linalg",
    "data",
    "schema",
    "views",
    "scale",
    "kernel",
    "spectrum",
    "project",
    "basis",
    "engine",
    "config",
    "parameters",
    "checkpoint",
    "metrics",
    "model",
    "online",
    "fit",
    "stack",
    "suggest",
    "persist",
    "distributed",
    "lib",
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Whether a file holds nothing but unit tests, which may use anything.
fn is_test(path: &Path) -> bool {
    path.with_extension("").components().any(|part| part.as_os_str() == "tests")
}

/// A file without the unit tests at its end, which may use anything.
fn without_tests(text: &str) -> String {
    let text = text.replace("#[cfg(test)]\nmod tests;\n", "");
    text.split("#[cfg(test)]").next().unwrap().to_owned()
}

fn place(module: &str) -> usize {
    let found = ORDER.iter().position(|m| *m == module);
    found.unwrap_or_else(|| panic!("module '{module}' has no place in the order"))
}

#[test]
fn imports_point_backwards() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    let mut imports = 0;
    for path in all {
        let inside = path.strip_prefix(&source).unwrap();
        if is_test(inside) {
            continue;
        }
        let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let own = place(first.trim_end_matches(".rs"));
        let text = std::fs::read_to_string(&path).unwrap();
        let code = without_tests(&text);
        for line in code.lines().filter(|l| !l.trim_start().starts_with("//")) {
            for part in line.split("crate::").skip(1) {
                let module: String =
                    part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                if module.is_empty() || module.chars().next().unwrap().is_uppercase() {
                    continue;
                }
                imports += 1;
                assert!(
                    place(&module) <= own,
                    "{} imports crate::{module}, which stands after it",
                    inside.display()
                );
            }
        }
    }
    assert!(imports > 30, "only {imports} imports were seen");
}

/// The map in CONTRIBUTING has the same modules in the same order.
#[test]
fn the_map_for_contributors_has_this_order() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = std::fs::read_to_string(root).unwrap();
    let map = text.split("| `crates/raysum/src/` |").nth(1).unwrap();
    let rows = map.lines().skip(2).take_while(|line| line.starts_with("| `"));
    let mut modules: Vec<&str> =
        rows.map(|row| row[3..].split(['.', '/', '`']).next().unwrap()).collect();
    modules.dedup();
    assert_eq!(modules, ORDER[..ORDER.len() - 1]);
}

/// The order inside `engine/`. Files in one group know nothing of one another.
const ENGINE_ORDER: [&[&str]; 12] = [
    &["prior"],
    &["tensor"],
    &["observations"],
    &["streams"],
    &["rows"],
    &["statistics"],
    &["tiles"],
    &["path"],
    &["seam"],
    &["dense", "weight", "ski"],
    &["neighbors"],
    &["auto"],
];

fn engine_place(module: &str) -> usize {
    let found = ENGINE_ORDER.iter().position(|group| group.contains(&module));
    found.unwrap_or_else(|| panic!("engine/{module}.rs has no place in the order"))
}

/// The first name of each path of a use tree, such as `a` and `b` of `{a::{c, d}, b}`.
fn first_names(tree: &str) -> Vec<String> {
    let name = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let Some(inside) = tree.strip_prefix('{') else { return vec![name(tree)] };
    let (mut depth, mut names, mut start) = (0, Vec::new(), 0);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.push(name(&inside[start..at]));
                start = at + 1;
            }
            _ => {}
        }
        if c == '}' && depth == 0 && start > at {
            break;
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// What the code of a module inside `engine`, given by its path, names at the level of `engine`.
fn engine_names(code: &str, module: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for tree in code.split("crate::engine::").skip(1) {
        names.extend(first_names(tree));
    }
    let mut rest = code;
    while let Some(at) = rest.find("super::") {
        rest = &rest[at..];
        let mut up = 0;
        while let Some(after) = rest.strip_prefix("super::") {
            (rest, up) = (after, up + 1);
        }
        if up == module.len() {
            names.extend(first_names(rest));
        }
    }
    names
}

fn code_of(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let code = without_tests(&text);
    code.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_inside_the_engines_point_backwards() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // Where the names come from that `engine.rs` exports again.
    let root = code_of(&source.join("engine.rs"));
    let mut origin = std::collections::HashMap::new();
    for line in root.split("use ").skip(1).filter(|line| !line.starts_with("std::")) {
        let (module, tree) = line.split_once("::").unwrap();
        origin.extend(first_names(tree).into_iter().map(|name| (name, module)));
    }
    let mut all = Vec::new();
    files(&source.join("engine"), &mut all);
    let mut imports = 0;
    for path in all {
        let inside = path.strip_prefix(source.join("engine")).unwrap().with_extension("");
        if is_test(&inside) {
            continue;
        }
        let module: Vec<&str> = inside.iter().map(|part| part.to_str().unwrap()).collect();
        let own = engine_place(module[0]);
        for name in engine_names(&code_of(&path), &module) {
            let from = origin.get(&name).copied().unwrap_or(&name);
            imports += 1;
            assert!(
                from == module[0] || engine_place(from) < own,
                "engine/{} imports {name} of engine/{from}.rs, which does not stand before it",
                inside.display()
            );
        }
    }
    assert!(imports > 80, "only {imports} imports were seen");
}

#[test]
fn the_engines_of_a_use_tree_are_seen() {
    let names = |code: &str| engine_names(code, &["ski", "posterior"]);
    assert_eq!(names("use crate::engine::dense::tiles;"), ["dense"]);
    assert_eq!(
        names("use crate::engine::{\n    Prior, weight::{A, B},\n    tiles,\n};"),
        ["Prior", "weight", "tiles"]
    );
    assert_eq!(names("use super::super::auto::Auto; use super::grid::Grid;"), ["auto"]);
    assert_eq!(names("let a = crate::engine::path::WAVES;"), ["path"]);
}

/// The name of the type that a line declares, unless it is an associated one.
fn declared(line: &str) -> Option<&str> {
    let visible = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or(rest, |(_, after)| after).trim_start(),
        None => rest.trim_start(),
    });
    let name = ["struct ", "enum ", "trait ", "type "].iter().find_map(|k| visible.strip_prefix(k));
    name?.split(|c: char| !c.is_alphanumeric()).next()
}

/// A reader who meets a name need not ask which of several types it is.
#[test]
fn a_type_name_occurs_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = Vec::new();
    files(&source, &mut all);
    let mut known = std::collections::HashMap::new();
    for path in all {
        let inside = path.strip_prefix(&source).unwrap().to_owned();
        if is_test(&inside) {
            continue;
        }
        for name in code_of(&path).lines().filter_map(declared) {
            let before = known.insert(name.to_owned(), inside.clone());
            assert_eq!(before, None, "{} declares another {name}", inside.display());
        }
    }
    assert!(known.len() > 100, "only {} types were seen", known.len());
}

#[test]
fn declarations_are_seen() {
    assert_eq!(declared("pub(crate) struct Prior {"), Some("Prior"));
    assert_eq!(declared("pub enum Error {"), Some("Error"));
    assert_eq!(declared("type Run = [f64; 4];"), Some("Run"));
    assert_eq!(declared("    type Err = Error;"), None);
    assert_eq!(declared("let structure = 1;"), None);
}

/// What a program finds without looking further. The rest is in modules by purpose.
#[test]
fn the_root_has_few_types() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs");
    let text = std::fs::read_to_string(root).unwrap();
    let exported = text.lines().filter_map(|line| line.strip_prefix("pub use "));
    let names: Vec<String> = exported.flat_map(exported_names).collect();
    assert!((10..=20).contains(&names.len()), "{names:?}");
}

/// The names that a line such as `data::{Matrix, Dataset};` brings.
fn exported_names(line: &str) -> Vec<String> {
    let names = line.rsplit("::").next().unwrap().trim_matches(['{', '}', ';']);
    names.split(',').map(|name| name.trim().to_string()).collect()
}

#[test]
fn files_say_what_they_are_for_and_stay_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for source in ["raysum/src", "table/src", "cli/src", "experiments/src"] {
        let mut all = Vec::new();
        files(&root.join(source), &mut all);
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            let first = text.lines().next().unwrap_or("");
            assert!(
                first.starts_with("//! ") || first.starts_with("#![doc"),
                "{} does not open with its purpose",
                path.display()
            );
            assert!(text.lines().count() < 450, "{} is too long", path.display());
        }
    }
}
