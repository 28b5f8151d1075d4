//! Stacks in files: the first member is a model like any other, and has the others beside it.

use super::container::{self, Problem};
use super::{MODEL, Metadata, of_target, packed, read_model, stripped};
use crate::engine::Tensor;
use crate::error::{Error, Result};
use crate::model::{Calibration, Model};
use crate::stack::{HeldOut, Member, Share, Stack};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Where the sum of mixing weights must lie.
const SUM: std::ops::Range<f64> = 0.999..1.001;

/// What makes a stack of a model.
#[derive(Serialize, Deserialize)]
pub(super) struct StackMetadata {
    name: String,
    share: Share,
    shifted: bool,
    curve: Option<Calibration>,
    held_out: Option<HeldOut>,
    others: Vec<OtherMetadata>,
}

/// A member after the first. The arrays of member m begin with `member.m.`.
#[derive(Serialize, Deserialize)]
struct OtherMetadata {
    name: String,
    share: Share,
    model: Metadata,
}

fn beginning(member: usize) -> String {
    format!("member.{member}.")
}

impl Stack {
    /// Writes the stack to one file, atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        Self::save_all([self], path)
    }

    /// Writes the stacks of several targets to one file; shared arrays are stored once.
    pub fn save_all<'a>(
        stacks: impl IntoIterator<Item = &'a Stack>,
        path: impl AsRef<Path>,
    ) -> Result<()> {
        let (metadata, tensors) = contents(stacks)?;
        container::write(path.as_ref(), MODEL, &metadata, tensors)
    }

    /// Reads the stack of a file with one target, which may hold a single model.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut stacks = Self::load_all(path)?;
        match (stacks.pop(), stacks.len() + 1) {
            (Some(stack), 1) => Ok(stack),
            (_, targets) => Err(Error::SeveralTargets { path: path.to_owned(), targets }),
        }
    }

    /// Reads all stacks of a file, one per target; a file without any is an error.
    pub fn load_all(path: impl AsRef<Path>) -> Result<Vec<Self>> {
        container::read(path.as_ref(), MODEL, |all, tensors| read_stacks(all, &tensors))
    }

    /// The bytes of a model file, as [`Stack::save_all`] writes it.
    pub fn to_bytes<'a>(stacks: impl IntoIterator<Item = &'a Stack>) -> Result<Vec<u8>> {
        let (metadata, tensors) = contents(stacks)?;
        Ok(container::pack(MODEL, &metadata, tensors))
    }

    /// The stacks in such bytes, one per target.
    pub fn from_bytes(bytes: &[u8]) -> Result<Vec<Self>> {
        unpack(bytes, Path::new("bytes of a model"))
    }

    fn metadata(&self) -> Metadata {
        let Self { members, shifted, curve, held_out } = self;
        let (first, others) = (&members[0], &members[1..]);
        let mut metadata = first.model.metadata();
        if others.is_empty() && curve.is_none() && held_out.is_none() && first.share == Share::WHOLE
        {
            return metadata;
        }
        let other = |member: &Member| OtherMetadata {
            name: member.name.clone(),
            share: member.share,
            model: member.model.metadata(),
        };
        metadata.stack = Some(StackMetadata {
            name: first.name.clone(),
            share: first.share,
            shifted: *shifted,
            curve: curve.as_deref().cloned(),
            held_out: held_out.clone(),
            others: others.iter().map(other).collect(),
        });
        metadata
    }

    fn tensors(&self) -> Vec<Tensor> {
        let mut all = self.members[0].model.tensors();
        for (m, member) in self.members.iter().enumerate().skip(1) {
            for tensor in member.model.tensors() {
                all.push(Tensor { name: beginning(m) + &tensor.name, ..tensor });
            }
        }
        all
    }
}

/// The content of a file of these stacks.
fn contents<'a>(
    stacks: impl IntoIterator<Item = &'a Stack>,
) -> Result<(Vec<Metadata>, Vec<Tensor>)> {
    let stacks: Vec<&Stack> = stacks.into_iter().collect();
    if stacks.is_empty() {
        return Err(Error::NoTargets);
    }
    let metadata = stacks.iter().map(|stack| stack.metadata()).collect();
    Ok((metadata, packed(stacks.iter().map(|stack| stack.tensors()))))
}

/// The stacks in the bytes of a file with this name.
pub(super) fn unpack(bytes: &[u8], name: &Path) -> Result<Vec<Stack>> {
    container::unpack(bytes, name, MODEL, |all, tensors| read_stacks(all, &tensors))
}

fn read_stacks(all: Vec<Metadata>, tensors: &[Tensor]) -> std::result::Result<Vec<Stack>, Problem> {
    if all.is_empty() {
        return Err(Problem::Damaged("it holds no model".into()));
    }
    let several = all.into_iter().enumerate();
    several.map(|(k, metadata)| read_stack(metadata, &of_target(tensors, k))).collect()
}

fn read_stack(mut metadata: Metadata, tensors: &[Tensor]) -> std::result::Result<Stack, Problem> {
    let stack = metadata.stack.take();
    let model = read_model(metadata, tensors)?;
    let Some(stack) = stack else { return Ok(model.into()) };
    let columns = model.columns();
    let mut members = vec![Member { name: stack.name, model, share: stack.share }];
    for (k, OtherMetadata { name, share, model }) in stack.others.into_iter().enumerate() {
        let model = read_other(model, &stripped(tensors, &beginning(k + 1)), columns)?;
        members.push(Member { name, model, share });
    }
    let sound = |share: &Share| {
        let Share { mean, spread, inflation } = *share;
        mean >= 0.0 && spread >= 0.0 && inflation.is_finite() && inflation > 0.0
    };
    let sum = |of: fn(&Share) -> f64| members.iter().map(|m| of(&m.share)).sum::<f64>();
    if !members.iter().all(|member| sound(&member.share))
        || !SUM.contains(&sum(|share| share.mean))
        || !SUM.contains(&sum(|share| share.spread))
    {
        return Err(Problem::Damaged("the mixing weights make no sense".into()));
    }
    if stack.curve.as_ref().is_some_and(|curve| !curve.is_sound()) {
        return Err(Problem::Damaged("the calibration makes no sense".into()));
    }
    let curve = stack.curve.map(Arc::new);
    Ok(Stack { members, shifted: stack.shifted, curve, held_out: stack.held_out })
}

/// A member after the first, which must be for the same columns.
fn read_other(
    metadata: Metadata,
    tensors: &[Tensor],
    columns: usize,
) -> std::result::Result<Model, Problem> {
    if metadata.stack.is_some() {
        return Err(Problem::Damaged("a member is itself a stack".into()));
    }
    let model = read_model(metadata, tensors)?;
    if model.columns() != columns {
        return Err(Problem::Damaged("the members do not have the same columns".into()));
    }
    Ok(model)
}
