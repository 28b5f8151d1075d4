//! The model file: safetensors, with everything that is not an array as JSON in its metadata.
//!
//! Written beside, synced and renamed, so that a file is there whole or not at all. Read with
//! every length and number checked: no file makes the loader panic or gives a NaN.

use crate::config::Config;
use crate::data::Matrix;
use crate::engine::{self, Tensor};
use crate::error::{Error, Result};
use crate::file;
use crate::model::{FitReport, Model};
use crate::objective::{Hyperparameters, Layout};
use crate::project::Projections;
use crate::scale::Scaler;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The newest file format this version writes and reads.
pub const FORMAT: u64 = 1;
/// The key of the metadata.
const KEY: &str = "raysum";
const PROJECTIONS: &str = "projections";
const POSTERIOR: &str = "posterior.";

/// What stands under [`KEY`]: the format first, then what it tells how to read.
#[derive(Serialize, Deserialize)]
struct Envelope {
    format: u64,
    /// Of the text of `model` and the bytes of all arrays.
    checksum: String,
    model: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
struct Metadata {
    raysum: String,
    engine: String,
    config: Config,
    degrees: Vec<usize>,
    hyperparameters: Hyperparameters,
    scaler: Scaler,
    report: FitReport,
    relevance: Vec<f64>,
    column_names: Option<Vec<String>>,
    attachments: BTreeMap<String, serde_json::Value>,
}

impl Model {
    /// Writes the model to one file, atomically: an older file of that name stays whole until
    /// the new one is complete.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let bytes = self.to_bytes();
        file::write(path, |out| out.write_all(&bytes))
            .map_err(|reason| Error::Io { path: path.to_owned(), reason })
    }

    /// Reads a model written by [`Model::save`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes =
            std::fs::read(path).map_err(|reason| Error::Io { path: path.to_owned(), reason })?;
        Self::from_bytes(&bytes).map_err(|problem| match problem {
            Problem::NotAModel => Error::NotAModel { path: path.to_owned() },
            Problem::Format(found) => {
                Error::FormatVersion { path: path.to_owned(), found, supported: FORMAT }
            }
            Problem::Damaged(detail) => Error::Damaged { path: path.to_owned(), detail },
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let metadata = Metadata {
            raysum: self.version.clone(),
            engine: self.engine().into(),
            config: self.config.clone(),
            degrees: self.projections.degrees().to_vec(),
            hyperparameters: self.hyperparameters.clone(),
            scaler: self.scaler.clone(),
            report: self.report.clone(),
            relevance: self.relevance.clone(),
            column_names: self.column_names.clone(),
            attachments: self.attachments.clone(),
        };
        let model = serde_json::value::to_raw_value(&metadata).expect("plain data serialises");
        let p = self.projections.matrix();
        let shape = vec![p.rows(), p.columns()];
        let mut tensors = vec![Tensor::new(PROJECTIONS, shape, p.as_slice().to_vec())];
        for tensor in self.posterior.tensors() {
            tensors.push(Tensor { name: format!("{POSTERIOR}{}", tensor.name), ..tensor });
        }
        let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
            .into_iter()
            .map(|t| (t.name, t.shape, t.values.iter().flat_map(|v| v.to_le_bytes()).collect()))
            .collect();
        let arrays = bytes.iter().map(|(name, _, bytes)| (name.as_str(), bytes.as_slice()));
        let checksum = checksum(model.get(), arrays.collect());
        let envelope = Envelope { format: FORMAT, checksum, model };
        let json = serde_json::to_string(&envelope).expect("plain data serialises");
        let views = bytes.iter().map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F64, shape.clone(), bytes);
            (name, view.expect("the bytes were made for the shape"))
        });
        safetensors::serialize(views, Some(HashMap::from([(KEY.to_string(), json)])))
            .expect("names are unique and sizes fit")
    }

    fn from_bytes(bytes: &[u8]) -> std::result::Result<Self, Problem> {
        let envelope = read_envelope(bytes)?;
        let file = SafeTensors::deserialize(bytes)
            .map_err(|e| Problem::Damaged(format!("safetensors: {e}")))?;
        let views = file.tensors();
        let arrays = views.iter().map(|(name, view)| (name.as_str(), view.data()));
        if checksum(envelope.model.get(), arrays.collect()) != envelope.checksum {
            return Err(Problem::Damaged("its checksum is wrong".into()));
        }
        let metadata: Metadata = serde_json::from_str(envelope.model.get())
            .map_err(|e| Problem::Damaged(format!("metadata: {e}")))?;
        let mut tensors = Vec::new();
        for (name, view) in views {
            tensors.push(read_tensor(name, &view)?);
        }
        let (projections, posterior): (Vec<_>, Vec<_>) =
            tensors.into_iter().partition(|t| t.name == PROJECTIONS);
        let projections = match <[Tensor; 1]>::try_from(projections) {
            Ok([t]) if t.shape.len() == 2 => {
                let matrix = Matrix::from_row_major(t.shape[0], t.shape[1], t.values)?;
                Projections::from_matrix(matrix, metadata.degrees.clone())?
            }
            _ => {
                return Err(Problem::Damaged(
                    "array 'projections' is missing or not a matrix".into(),
                ));
            }
        };
        check_scaler(&metadata, projections.matrix().columns())?;
        metadata.config.check()?;
        let layout = Layout::new(&metadata.config, projections)?;
        layout.check(&metadata.hyperparameters)?;
        let prior = layout.prior(&metadata.hyperparameters);
        let strip = |t: Tensor| Tensor {
            name: t.name.strip_prefix(POSTERIOR).unwrap_or(&t.name).to_string(),
            ..t
        };
        let posterior: Vec<Tensor> = posterior.into_iter().map(strip).collect();
        let posterior =
            engine::load(&metadata.engine, &prior, &posterior).map_err(Problem::Damaged)?;
        let mut model = Model::new(
            metadata.config,
            metadata.scaler,
            layout.projections().clone(),
            metadata.hyperparameters,
            prior,
            posterior,
            metadata.report,
        );
        model.version = metadata.raysum;
        model.relevance = metadata.relevance;
        model.column_names = metadata.column_names;
        model.attachments = metadata.attachments;
        Ok(model)
    }
}

/// FNV-1a in 64 bits over the text and the arrays, by name: not against malice, but against a
/// flipped bit.
fn checksum(text: &str, mut arrays: Vec<(&str, &[u8])>) -> String {
    arrays.sort_unstable_by_key(|(name, _)| *name);
    let parts = arrays.iter().flat_map(|(name, bytes)| [name.as_bytes(), bytes]);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in std::iter::once(text.as_bytes()).chain(parts).flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// What is wrong with the bytes of a file.
enum Problem {
    NotAModel,
    Format(u64),
    Damaged(String),
}

impl From<Error> for Problem {
    fn from(e: Error) -> Self {
        Problem::Damaged(e.to_string())
    }
}

/// The JSON of the header. It is read before the arrays are, because a file that was cut off has
/// its header still: it can be told from a file that never was a model.
fn read_envelope(bytes: &[u8]) -> std::result::Result<Envelope, Problem> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(rename = "__metadata__")]
        metadata: HashMap<String, String>,
    }
    #[derive(Deserialize)]
    struct Version {
        format: u64,
    }
    let (length, rest) = bytes.split_first_chunk::<8>().ok_or(Problem::NotAModel)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| Problem::NotAModel)?;
    if rest.first() != Some(&b'{') {
        return Err(Problem::NotAModel);
    }
    let Some(header) = rest.get(..length) else {
        let looks_like_one = String::from_utf8_lossy(&rest[..rest.len().min(200)]).contains(KEY);
        return Err(if looks_like_one {
            Problem::Damaged("it ends in the middle of its header".into())
        } else {
            Problem::NotAModel
        });
    };
    let header: Header = serde_json::from_slice(header).map_err(|_| Problem::NotAModel)?;
    let json = header.metadata.get(KEY).ok_or(Problem::NotAModel)?;
    let damaged = |e: serde_json::Error| Problem::Damaged(format!("metadata: {e}"));
    let version: Version = serde_json::from_str(json).map_err(damaged)?;
    if version.format != FORMAT {
        return Err(Problem::Format(version.format));
    }
    serde_json::from_str(json).map_err(damaged)
}

fn read_tensor(name: String, view: &TensorView<'_>) -> std::result::Result<Tensor, Problem> {
    if view.dtype() != Dtype::F64 {
        return Err(Problem::Damaged(format!("array '{name}' is not of 64-bit floats")));
    }
    let (chunks, _) = view.data().as_chunks::<8>();
    let values: Vec<f64> = chunks.iter().map(|c| f64::from_le_bytes(*c)).collect();
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Problem::Damaged(format!("array '{name}' holds a value that is not finite")));
    }
    Ok(Tensor { name, shape: view.shape().to_vec(), values })
}

fn check_scaler(metadata: &Metadata, columns: usize) -> std::result::Result<(), Problem> {
    let names = metadata.column_names.as_ref();
    let lengths = [metadata.scaler.x.len(), metadata.relevance.len()];
    if lengths.iter().any(|l| *l != columns) || names.is_some_and(|n| n.len() != columns) {
        return Err(Problem::Damaged(format!("not everything is there for {columns} columns")));
    }
    let bad_scale = metadata.scaler.x.iter().any(|s| s.std < 0.0) || metadata.scaler.y.std <= 0.0;
    if bad_scale {
        return Err(Problem::Damaged("a standard deviation is negative".into()));
    }
    Ok(())
}
