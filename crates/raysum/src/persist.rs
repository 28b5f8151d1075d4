//! Reads and writes models; [`container`] has the file format.

mod container;
mod format2;
mod shards;
mod stacks;

use crate::config::Config;
use crate::data::Matrix;
use crate::engine::{self, Tensor};
use crate::error::{Error, Result, StackError};
use crate::model::{FitReport, Model, NoiseLevels};
use crate::parameters::{Hyperparameters, Parameters};
use crate::project::Projections;
use crate::scale::{ColumnMap, Scaler};
use crate::schema::Schema;
use crate::stack::Stack;
use crate::views::Views;
use container::Problem;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The file format that this version writes, and the newest that it reads.
pub const FORMAT: u64 = 5;
/// The oldest file format that this version reads.
const OLDEST_FORMAT: u64 = 2;
/// Kinds of files.
const MODEL: &str = "model";
const SHARD: &str = "part";

const PROJECTIONS: &str = "projections";
const POSTERIOR: &str = "posterior.";
const NOISE: &str = "noise.";
/// Behind the name of an array that a target does not have, though the first one has it.
const ABSENT: &str = ".absent";

/// The degrees of each term's sub-kernels; files of format 2 and 3 have those of their only term.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum SavedDegrees {
    Several(Vec<Vec<usize>>),
    One(Vec<usize>),
}

impl SavedDegrees {
    fn of_terms(&self) -> Vec<Vec<usize>> {
        match self {
            SavedDegrees::Several(terms) => terms.clone(),
            SavedDegrees::One(only) => vec![only.clone()],
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    raysum: String,
    engine: String,
    config: Config,
    degrees: SavedDegrees,
    hyperparameters: Hyperparameters,
    scaler: Scaler,
    report: FitReport,
    relevance: Vec<f64>,
    #[serde(default)]
    groups: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    merged: Vec<String>,
    /// `None` if there is a schema, which contains them.
    column_names: Option<Vec<String>>,
    #[serde(default)]
    schema: Option<Schema>,
    #[serde(default)]
    target_name: Option<String>,
    #[serde(default)]
    preset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    noise: Option<Box<NoiseMetadata>>,
    /// What makes a stack of the model, if there is more than a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack: Option<stacks::StackMetadata>,
    #[serde(default, skip_serializing)]
    attachments: format2::Attachments,
}

/// The model of the noise, whose arrays have [`NOISE`] before their names.
#[derive(Serialize, Deserialize)]
struct NoiseMetadata {
    model: Metadata,
    centre: f64,
    strength: f64,
    average: f64,
    range: (f64, f64),
}

impl Metadata {
    /// Converts the content of format 2 to that of format 3.
    fn upgraded(mut self) -> Self {
        let old = std::mem::take(&mut self.attachments);
        self.target_name = self.target_name.or(old.target());
        self.preset = self.preset.or(old.preset());
        self.schema = self.schema.or(old.into_schema());
        if self.schema.is_some() {
            self.column_names = None;
        }
        self
    }
}

impl Model {
    /// Writes the model to one file, atomically: an older file of that name stays whole until
    /// the new one is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        save(path.as_ref(), &[self])
    }

    /// Writes the models of several targets to one file; shared arrays are stored once.
    pub fn save_all<'a>(
        models: impl IntoIterator<Item = &'a Model>,
        path: impl AsRef<Path>,
    ) -> Result<()> {
        save(path.as_ref(), &models.into_iter().collect::<Vec<_>>())
    }

    /// Reads a model written by [`Model::save`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut models = Self::load_all(path)?;
        match (models.pop(), models.len() + 1) {
            (Some(model), 1) => Ok(model),
            (_, targets) => Err(Error::SeveralTargets { path: path.to_owned(), targets }),
        }
    }

    /// Reads all models of a file, one per target; a file without any is an error, and so is one with
    /// stacks of several models. Their intervals are not calibrated; those of [`Stack::load_all`] are.
    pub fn load_all(path: impl AsRef<Path>) -> Result<Vec<Self>> {
        let path = path.as_ref();
        single_models(path, Stack::load_all(path)?)
    }

    /// The bytes of a model file, as [`Model::save_all`] writes it.
    pub fn to_bytes<'a>(models: impl IntoIterator<Item = &'a Model>) -> Result<Vec<u8>> {
        let (metadata, tensors) = contents(&models.into_iter().collect::<Vec<_>>())?;
        Ok(container::pack(MODEL, &metadata, tensors))
    }

    /// The models in such bytes, one per target.
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>> {
        let name = Path::new("bytes of a model");
        single_models(name, stacks::unpack(bytes, name)?)
    }

    fn metadata(&self) -> Metadata {
        Metadata {
            raysum: self.version.clone(),
            engine: self.engine().into(),
            config: self.config.clone(),
            degrees: SavedDegrees::Several(
                self.projections.iter().map(|p| p.degrees().to_vec()).collect(),
            ),
            hyperparameters: self.hyperparameters.clone(),
            scaler: self.scaler.clone(),
            report: self.report.clone(),
            relevance: self.relevance.clone(),
            merged: self.merged.clone(),
            groups: self.groups.clone(),
            column_names: self.column_names.clone(),
            schema: self.schema.clone(),
            target_name: self.target_name.clone(),
            preset: self.preset.clone(),
            noise: self.noise.as_ref().map(|noise| {
                let NoiseLevels { model, centre, strength, average, range } = &**noise;
                let model = model.metadata();
                let (centre, strength, average, range) = (*centre, *strength, *average, *range);
                Box::new(NoiseMetadata { model, centre, strength, average, range })
            }),
            stack: None,
            attachments: format2::Attachments::default(),
        }
    }

    fn tensors(&self) -> Vec<Tensor> {
        let projections = self.projections.iter().enumerate();
        let mut all: Vec<Tensor> =
            projections.map(|(term, p)| views_tensor(term, p.views())).collect();
        for tensor in self.posterior.tensors() {
            all.push(Tensor { name: format!("{POSTERIOR}{}", tensor.name), ..tensor });
        }
        for tensor in self.noise.iter().flat_map(|noise| noise.model.tensors()) {
            all.push(Tensor { name: format!("{NOISE}{}", tensor.name), ..tensor });
        }
        all
    }
}

/// The name of the array with a term's projections; the first one's has no mark.
fn projections_name(term: usize) -> String {
    if term == 0 { PROJECTIONS.into() } else { format!("{PROJECTIONS}.{term}") }
}

/// Projections as stored in a file: a matrix, or one factor each for projections onto the axes.
fn views_tensor(term: usize, views: &Views) -> Tensor {
    let mut shape = vec![views.rows()];
    if !views.are_axes() {
        shape.push(views.columns());
    }
    Tensor::new(projections_name(term), shape, views.weights().to_vec())
}

/// Reads the array of [`views_tensor`] for a model with this number of columns.
fn read_views(
    term: usize,
    tensors: &[Tensor],
    columns: usize,
) -> std::result::Result<Views, Problem> {
    let tensor = Tensor::find(tensors, &projections_name(term)).map_err(Problem::Damaged)?;
    let weights = tensor.values.clone();
    match *tensor.shape.as_slice() {
        [rows] if rows <= columns => Ok(Views::along_axes(weights, columns)),
        [rows, of] if of == columns => Ok(Matrix::from_row_major(rows, of, weights)?.into()),
        _ => Err(Problem::Damaged("the projections do not have the columns of the scaler".into())),
    }
}

/// The name of an array of target k; those of the first have no prefix.
fn marked(k: usize, name: &str) -> String {
    if k == 0 { name.into() } else { format!("{k}/{name}") }
}

/// The bytes of content and arrays that are no file.
pub(crate) fn pack_message(kind: &str, content: &impl Serialize, tensors: Vec<Tensor>) -> Vec<u8> {
    container::pack(kind, content, tensors)
}

/// Reads the bytes of [`pack_message`]; the error says what is wrong with them.
pub(crate) fn unpack_message<C: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    kind: &str,
) -> std::result::Result<(C, Vec<Tensor>), String> {
    container::message(bytes, kind)
}

/// See [`container::resealed`].
pub(crate) fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
    container::resealed(bytes)
}

fn save(path: &Path, models: &[&Model]) -> Result<()> {
    let (metadata, tensors) = contents(models)?;
    container::write(path, MODEL, &metadata, tensors)
}

/// The content of a file of these models.
fn contents(models: &[&Model]) -> Result<(Vec<Metadata>, Vec<Tensor>)> {
    if models.is_empty() {
        return Err(Error::NoTargets);
    }
    let metadata = models.iter().map(|model| model.metadata()).collect();
    Ok((metadata, packed(models.iter().map(|model| model.tensors()))))
}

/// The models of stacks that have one each.
fn single_models(path: &Path, stacks: Vec<Stack>) -> Result<Vec<Model>> {
    let model = |mut stack: Stack| match stack.members.len() {
        1 => Ok(stack.members.swap_remove(0).model),
        members => Err(StackError::NotOneModel { path: path.to_owned(), members }.into()),
    };
    stacks.into_iter().map(model).collect()
}

/// The arrays of several targets; those shared with the first are stored once. An empty array says
/// which of the first one's another target does not have.
fn packed(mut targets: impl Iterator<Item = Vec<Tensor>>) -> Vec<Tensor> {
    let shared = targets.next().unwrap_or_default();
    let mut all = shared.clone();
    for (k, tensors) in targets.enumerate() {
        let absent = shared.iter().filter(|first| tensors.iter().all(|t| t.name != first.name));
        all.extend(absent.map(|t| Tensor::new(marked(k + 1, &t.name) + ABSENT, vec![0], vec![])));
        let own = tensors.into_iter().filter(|tensor| !shared.contains(tensor));
        all.extend(own.map(|t| Tensor { name: marked(k + 1, &t.name), ..t }));
    }
    all
}

/// The arrays of target k: its own, and those it shares with the first.
fn of_target(tensors: &[Tensor], k: usize) -> Vec<Tensor> {
    let mark = marked(k, "");
    let own = |t: &&Tensor| t.name.starts_with(&mark) && (k > 0 || !t.name.contains('/'));
    let mut all: Vec<Tensor> = tensors
        .iter()
        .filter(own)
        .map(|t| Tensor { name: t.name[mark.len()..].into(), ..t.clone() })
        .collect();
    for tensor in tensors.iter().filter(|t| !t.name.contains('/')) {
        let absent = format!("{}{ABSENT}", tensor.name);
        if all.iter().all(|own| own.name != tensor.name && own.name != absent) {
            all.push(tensor.clone());
        }
    }
    all.retain(|tensor| !tensor.name.ends_with(ABSENT));
    all
}

fn read_model(metadata: Metadata, tensors: &[Tensor]) -> std::result::Result<Model, Problem> {
    let metadata = metadata.upgraded();
    let columns = metadata.scaler.x.len();
    let degrees = metadata.degrees.of_terms();
    let projections = degrees.into_iter().enumerate().map(|(term, degrees)| {
        Ok(Projections::from_views(read_views(term, tensors, columns)?, degrees)?)
    });
    let projections = projections.collect::<std::result::Result<Vec<_>, Problem>>()?;
    check_scaler(&metadata, columns)?;
    metadata.config.check()?;
    let parameters = Parameters::new(&metadata.config, projections)?;
    parameters.check(&metadata.hyperparameters)?;
    let prior = parameters.prior(&metadata.hyperparameters);
    let posterior = stripped(tensors, POSTERIOR);
    let posterior = engine::load(&metadata.engine, prior, &posterior).map_err(Problem::Damaged)?;
    let groups = match metadata.groups.len() {
        0 => (0..columns).collect(),
        _ => metadata.groups,
    };
    let mut model = Model::new(
        metadata.config,
        metadata.scaler,
        parameters.projections(),
        metadata.hyperparameters,
        posterior,
        metadata.report,
    );
    if let Some(noise) = metadata.noise {
        let NoiseMetadata { model: of_noise, centre, strength, average, range } = *noise;
        let of_noise = read_model(of_noise, &stripped(tensors, NOISE))?;
        let sound = of_noise.columns() == columns && centre.is_finite();
        if !sound
            || [strength, average, range.0, range.1].iter().any(|v| !(v.is_finite() && *v > 0.0))
        {
            return Err(Problem::Damaged("the levels of the noise make no sense".into()));
        }
        let levels = NoiseLevels { model: of_noise, centre, strength, average, range };
        model.set_noise(Some(Arc::new(levels)));
    }
    model.version = metadata.raysum;
    (model.relevance, model.groups) = (metadata.relevance, groups);
    model.target_name = metadata.target_name;
    model.preset = metadata.preset;
    model.merged = metadata.merged;
    if let Some(names) = metadata.column_names {
        model.set_column_names(names)?;
    }
    if let Some(schema) = metadata.schema {
        model.set_schema(schema)?;
    }
    Ok(model)
}

/// The arrays whose names begin so, without that beginning.
fn stripped(tensors: &[Tensor], beginning: &str) -> Vec<Tensor> {
    let strip = |t: &Tensor| {
        let name = t.name.strip_prefix(beginning)?.to_string();
        Some(Tensor { name, ..t.clone() })
    };
    tensors.iter().filter_map(strip).collect()
}

fn check_scaler(metadata: &Metadata, columns: usize) -> std::result::Result<(), Problem> {
    let groups = &metadata.groups;
    let relevant = groups.last().map_or(columns, |last| last.saturating_add(1));
    let grouped = groups.is_empty() || (groups.len() == columns && groups.is_sorted());
    if metadata.scaler.x.len() != columns || !grouped || metadata.relevance.len() != relevant {
        return Err(Problem::Damaged(format!("not everything is there for {columns} columns")));
    }
    let bad_scale = metadata.scaler.x.iter().any(|s| s.std < 0.0) || metadata.scaler.y.std <= 0.0;
    let maps = metadata.scaler.maps.as_ref();
    if maps.is_some_and(|maps| maps.len() != columns || !maps.iter().all(ColumnMap::is_sound)) {
        return Err(Problem::Damaged("the scale of a column makes no sense".into()));
    }
    if metadata.scaler.power.is_some_and(|power| !power.is_sound()) {
        return Err(Problem::Damaged("the scale of the target makes no sense".into()));
    }
    if bad_scale {
        return Err(Problem::Damaged("a standard deviation is negative".into()));
    }
    let Scaler { weight, average_noise, reported_noise, .. } = metadata.scaler;
    let scales = [weight, average_noise, reported_noise];
    if scales.iter().any(|scale| !(scale.is_finite() && *scale > 0.0)) {
        return Err(Problem::Damaged("a scale of the weights is not above 0".into()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_model_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.raysum");
        container::write(&path, MODEL, &Vec::<Metadata>::new(), Vec::new()).unwrap();
        let message = format!("{}: the model file is damaged (it holds no model)", path.display());
        assert_eq!(Model::load_all(&path).unwrap_err().to_string(), message);
        assert_eq!(Model::load(&path).unwrap_err().to_string(), message);
    }
}
