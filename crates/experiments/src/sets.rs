//! Data sets: read from the user's folder, or generated.

use anyhow::{Context, Result, bail, ensure};
use raysum::Labels;
use raysum::Matrix;
use raysum_table::{CsvOptions, InputPath, TableFile, TrainingOptions, read_training};
use std::path::{Path, PathBuf};

/// Rows with a target.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) x: Matrix,
    pub(crate) y: Vec<f64>,
}

/// A folder with `uci/NAME/data.csv.gz` and `extra/NAME/data.csv.gz`.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder, if it exists.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        ensure!(path.is_dir(), "--data: {} is not a folder", path.display());
        Ok(Self(path.to_owned()))
    }

    /// The names of the sets of a kind, in alphabetical order.
    pub(crate) fn names(&self, kind: &str) -> Result<Vec<String>> {
        let folder = self.0.join(kind);
        let cannot = || format!("cannot read the folder {}", folder.display());
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&folder).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            if file_in(&entry.path()).is_some() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// A table of the paper's UCI sets: no header, the target last.
    pub(crate) fn uci(&self, name: &str) -> Result<Set> {
        self.read("uci", name, false)
    }

    /// A table with a header, the target last.
    pub(crate) fn extra(&self, name: &str) -> Result<Set> {
        self.read("extra", name, true)
    }

    fn read(&self, kind: &str, name: &str, header: bool) -> Result<Set> {
        let folder = self.0.join(kind).join(name);
        let Some(path) = file_in(&folder) else {
            bail!("no data set {name}: {} has no data.csv.gz or data.csv", folder.display());
        };
        let options = CsvOptions { header: Some(header), ..CsvOptions::default() };
        let file = TableFile::open(&InputPath::new(&path), options)?;
        let mut table = read_training(&file, &TrainingOptions::default(), |stats| {
            Ok(Labels::of_targets(vec![stats.find_column("-1")?]))
        })?;
        let y = table.labels.targets.pop().context("a table has a last column")?;
        Ok(Set { name: name.into(), x: table.x.into_matrix()?, y })
    }
}

fn file_in(folder: &Path) -> Option<PathBuf> {
    ["data.csv.gz", "data.csv"].map(|f| folder.join(f)).into_iter().find(|p| p.is_file())
}
