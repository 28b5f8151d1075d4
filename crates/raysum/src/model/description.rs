//! The origin of a model: the schema of its table, its target and its preset.

use super::{FitReport, Model};
use crate::error::{Error, Result};
use crate::schema::Schema;

impl Model {
    /// Whether the model, and its file, holds the training rows.
    pub fn keeps_rows(&self) -> bool {
        self.posterior.keeps_rows()
    }

    /// How tables are read for this model, if it was fitted on one.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// Sets the schema of the training table. It must describe as many columns as X has.
    pub fn set_schema(&mut self, schema: Schema) -> Result<()> {
        schema.validate()?;
        self.check_names(schema.encoded_columns())?;
        self.column_names = None;
        self.schema = Some(schema);
        Ok(())
    }

    /// Names of the columns of X, if they are known: those of the schema, or the caller's own.
    pub fn column_names(&self) -> Option<Vec<String>> {
        let of_schema = self.schema.as_ref().map(Schema::encoded_names);
        of_schema.or_else(|| self.column_names.clone())
    }

    /// Names the columns of X. A model with a schema has the names of its schema.
    pub fn set_column_names(&mut self, names: Vec<String>) -> Result<()> {
        self.check_names(names.len())?;
        self.schema = None;
        self.column_names = Some(names);
        Ok(())
    }

    /// The name of a column of X, or its number where there are no names.
    pub fn column_name(&self, column: usize) -> String {
        let names = self.column_names();
        let name = names.as_ref().and_then(|names| names.get(column));
        name.cloned().unwrap_or_else(|| format!("column {column}"))
    }

    /// The name of an original column, as [`Model::relevance`] counts them: a category's columns of
    /// X are one.
    pub fn feature_name(&self, feature: usize) -> String {
        let used = self.schema.as_ref().and_then(|schema| schema.used().nth(feature));
        match used {
            // A model of an early version has a number for each column of X.
            Some(used) if self.relevance.len() < self.columns() => used.name.clone(),
            _ => {
                let first = self.groups.partition_point(|group| *group < feature);
                self.column_name(first)
            }
        }
    }

    /// The name of the target, if it is known.
    pub fn target_name(&self) -> Option<&str> {
        self.target_name.as_deref()
    }

    /// Names the target.
    pub fn set_target_name(&mut self, name: impl Into<String>) {
        self.target_name = Some(name.into());
    }

    /// The name of the preset that the configuration was made from, if it is known.
    pub fn preset(&self) -> Option<&str> {
        self.preset.as_deref()
    }

    /// Sets the name of the preset that the configuration was made from; spaces in it are left out.
    pub fn set_preset(&mut self, name: impl Into<String>) {
        self.preset = Some(name.into().split_whitespace().collect());
    }

    /// Reports the search of another model, whose hyperparameters this one has.
    pub(crate) fn report_search_of(&mut self, other: &Model) {
        let FitReport { evaluations, unconverged, hit_limit, .. } = other.report;
        self.report = FitReport { evaluations, unconverged, hit_limit, ..self.report.clone() };
    }

    /// The limit of the search was chosen for it: that it ended there is nothing to report.
    pub(crate) fn accept_limit(&mut self) {
        self.report.hit_limit = false;
    }

    pub(crate) fn check_names(&self, found: usize) -> Result<()> {
        if found == self.columns() {
            return Ok(());
        }
        let detail = format!("it has {found} encoded columns, but the model {}", self.columns());
        Err(Error::Schema { detail })
    }
}
