//! Data flows one way: a file may import only what stands before it in this list.

use std::path::{Path, PathBuf};

/// The order of the modules, and what none of them may be ahead of.
const ORDER: [&str; 26] = [
    "error",
    "memory",
    "named",
    "file",
    "rng",
    "optimize",
    "linalg",
    "data",
    "schema",
    "checkpoint",
    "views",
    "scale",
    "kernel",
    "spectrum",
    "expected",
    "project",
    "basis",
    "engine",
    "config",
    "parameters",
    "metrics",
    "model",
    "online",
    "fit",
    "persist",
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
        let first = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let own = place(first.trim_end_matches(".rs"));
        let text = std::fs::read_to_string(&path).unwrap();
        // Tests at the end of a file may use anything.
        let code = text.split("#[cfg(test)]").next().unwrap();
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
