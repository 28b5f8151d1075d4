//! Rows added to a stack or removed from it, at the same hyperparameters, mixing weights and calibration.

use super::{Member, Stack};
use crate::data::Dataset;
use crate::error::{Result, StackError};
use crate::model::Model;

impl Stack {
    /// Adds rows, as [`Model::update`] does, to every member. If it fails, the stack stays as it was.
    pub fn update(&mut self, data: &Dataset<'_>) -> Result<()> {
        self.change(|model| model.update(data))
    }

    /// Removes rows, as [`Model::remove`] does, from every member.
    pub fn remove(&mut self, data: &Dataset<'_>) -> Result<()> {
        self.change(|model| model.remove(data))
    }

    fn change(&mut self, change: impl Fn(&mut Model) -> Result<()>) -> Result<()> {
        let changed = self.members.iter().map(|member| {
            let mut model = member.model.clone();
            change(&mut model)?;
            Ok(Member { model, ..member.clone() })
        });
        self.members = changed.collect::<Result<_>>()?;
        Ok(())
    }

    /// The only member, for what a stack of several cannot do.
    pub fn require_single(&self, what: &'static str) -> Result<&Model> {
        Ok(self.single().ok_or(StackError::SeveralMembers { what })?)
    }

    /// The same, to change it.
    pub fn require_single_mut(&mut self, what: &'static str) -> Result<&mut Model> {
        match self.members.as_mut_slice() {
            [only] => Ok(&mut only.model),
            _ => Err(StackError::SeveralMembers { what }.into()),
        }
    }
}
