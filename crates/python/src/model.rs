//! Fitted models, one per target, as one immutable Python object.

use crate::arrays::{Rows, array, array_2d, matrix, slice};
use crate::error::to_python;
use crate::frame::{self, EncodedFrame, GivenColumn, TrainingFrame};
use crate::job::{self, Step};
use crate::settings::Settings;
use crate::threads::{compute, pool};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use raysum::{Checkpoint, Dataset, Fit, Model as Fitted, Prediction, Progress, Result};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Rows per thread that are predicted between two checks for signals.
const CHUNK: usize = 1024;

/// Fitted models, one per target.
#[pyclass(frozen, module = "raysum._raysum")]
pub(crate) struct Model {
    targets: Vec<Fitted>,
}

/// A one-dimensional and a two-dimensional array, with one entry per row.
type Array<'py> = Bound<'py, PyArray1<f64>>;
type Array2<'py> = Bound<'py, PyArray2<f64>>;
/// Mean, standard deviation, and the ends of the interval, if requested.
type Predicted<'py> = (Array<'py>, Array<'py>, Option<(Array<'py>, Array<'py>)>);

/// Fits models to rows; returns the models and the history of the search.
#[pyfunction]
#[pyo3(signature = (rows, settings, threads, frame=None, progress=None, checkpoint=None))]
pub(crate) fn fit(
    py: Python<'_>,
    rows: Rows,
    settings: Settings,
    threads: usize,
    frame: Option<&TrainingFrame>,
    progress: Option<&Bound<'_, PyAny>>,
    checkpoint: Option<PathBuf>,
) -> PyResult<(Model, Vec<Step>)> {
    let (groups, shared) = (frame.map(|frame| frame.schema.groups()), settings.shared);
    let (config, pool) = (settings.config()?, pool(threads)?);
    let (mut targets, history) = job::run(py, progress, move |py, caller| {
        rows.borrow(py, false, |data| {
            let search = || {
                let data = match &groups {
                    Some(groups) => data.clone().grouped(groups)?,
                    None => data.clone(),
                };
                let mut history = Vec::new();
                let mut report = |p: &Progress| {
                    history.push(job::step(p));
                    caller.report(p)
                };
                let mut kept = checkpoint.as_ref().map(Checkpoint::open).transpose()?;
                let mut fit = Fit::new(&config).shared(shared).progress(&mut report);
                if let Some(kept) = &mut kept {
                    fit = fit.checkpoint(kept);
                }
                let models = fit.run(&data)?;
                if let Some(kept) = kept {
                    kept.remove();
                }
                Ok((models, history))
            };
            job::detached(py, || pool.install(search)).map_err(to_python)
        })
    })?;
    for model in &mut targets {
        model.set_preset(settings.model.as_str());
    }
    Ok((Model { targets }, history))
}

impl Model {
    /// One result per target.
    fn each<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        body: impl Fn(&Fitted) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        self.targets.iter().map(|model| compute(py, threads, || body(model))).collect()
    }

    /// One result per target and chunk of rows, with a check for signals after each chunk.
    fn chunks<T: Send>(
        &self,
        py: Python<'_>,
        rows: usize,
        threads: usize,
        mut body: impl FnMut(&Fitted, &[usize]) -> Result<T> + Send,
        mut take: impl FnMut(usize, T),
    ) -> PyResult<()> {
        for start in (0..rows).step_by(CHUNK * threads) {
            let chunk: Vec<usize> = (start..(start + CHUNK * threads).min(rows)).collect();
            for (k, model) in self.targets.iter().enumerate() {
                let part = compute(py, threads, || body(model, &chunk));
                take(k, part?);
            }
            py.check_signals()?;
        }
        Ok(())
    }
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let targets = py.detach(|| Fitted::load_all(path)).map_err(to_python)?;
        Ok(Self { targets })
    }

    /// Writes a model file atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| Fitted::save_all(&self.targets, path)).map_err(to_python)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| Fitted::to_bytes(&self.targets)).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads a model from the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let targets = py.detach(|| Fitted::from_bytes(bytes)).map_err(to_python)?;
        Ok(Self { targets })
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let bytes = slf.get().to_bytes(slf.py())?;
        Ok((slf.get_type().getattr("from_bytes")?, (bytes,)))
    }

    fn __copy__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __deepcopy__<'py>(slf: Bound<'py, Self>, _memo: &Bound<'py, PyAny>) -> Bound<'py, Self> {
        slf
    }

    /// A copy with names of the columns and the targets.
    fn named(&self, columns: Option<Vec<String>>, targets: Option<Vec<String>>) -> PyResult<Self> {
        let mut all = self.targets.clone();
        for (k, model) in all.iter_mut().enumerate() {
            if let Some(columns) = &columns {
                model.set_column_names(columns.clone()).map_err(to_python)?;
            }
            if let Some(name) = targets.as_ref().and_then(|names| names.get(k)) {
                model.set_target_name(name.as_str());
            }
        }
        Ok(Self { targets: all })
    }

    /// A copy with the schema of the frame that it was fitted on.
    fn of_frame(&self, frame: &TrainingFrame) -> PyResult<Self> {
        let mut all = self.targets.clone();
        for (model, target) in all.iter_mut().zip(&frame.schema.labels.targets) {
            model.set_schema(frame.schema.clone()).map_err(to_python)?;
            model.set_target_name(target.name.as_str());
        }
        Ok(Self { targets: all })
    }

    /// Rows of a frame, encoded for this model; the rows that are left out; and notes.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<GivenColumn<'py>>,
        named: bool,
        rows: usize,
        missing: &str,
    ) -> PyResult<EncodedFrame<'py>> {
        let schema = raysum_table::schema_of(&self.targets);
        frame::encode(py, &schema, &columns, named, rows, missing)
    }

    /// A description without large arrays, as JSON.
    fn describe(&self) -> String {
        let first = &self.targets[0];
        let each = |pick: fn(&Fitted) -> Value| self.targets.iter().map(pick).collect::<Vec<_>>();
        let described = json!({
            "version": first.version(),
            "columns": first.columns(),
            "column_names": first.column_names(),
            "schema": first.schema(),
            "preset": first.preset(),
            "config": first.config(),
            "engine": first.engine(),
            "features": first.features(),
            "degrees": first.projections().iter().map(raysum::Projections::degrees).collect::<Vec<_>>(),
            "columns_scales": first.column_scales(),
            "groups": first.groups(),
            "reports": each(|m| json!(m.report())),
            "hyperparameters": each(|m| json!(m.hyperparameters())),
            "target_names": each(|m| json!(m.target_name())),
            "relevance": each(|m| json!(m.relevance())),
            "noise_std": each(|m| json!(m.noise_std())),
            "noise_relevance": each(|m| json!(m.noise_relevance())),
            "target_transformation": each(|m| json!(m.target_transformation())),
            "constant": each(|m| json!(m.constant())),
            "log_marginal_likelihood": each(|m| json!(m.log_marginal_likelihood())),
            "likelihood_error": each(|m| json!(m.likelihood_error())),
        });
        described.to_string()
    }

    /// The projections of each target and of each of its terms, one row per direction.
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Array2<'py>>>> {
        let terms = |model: &raysum::Model| {
            model.projections().iter().map(|term| array_2d(py, term.matrix())).collect()
        };
        self.targets.iter().map(terms).collect()
    }

    /// The distance of each row from the range of the training rows, in standard deviations.
    fn extrapolation<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Array<'py>> {
        let x = matrix(&x)?;
        // All targets were fitted on the same rows.
        Ok(array(py, compute(py, threads, || self.targets[0].extrapolation(x))?))
    }

    /// The mean of each target at each row.
    fn mean<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<Array<'py>>> {
        let x = matrix(&x)?;
        let mut means = vec![Vec::with_capacity(x.rows()); self.targets.len()];
        self.chunks(
            py,
            x.rows(),
            threads,
            |model, chunk| model.predict_mean(x.choose(chunk)),
            |k, mut part| means[k].append(&mut part),
        )?;
        Ok(means.into_iter().map(|mean| array(py, mean)).collect())
    }

    /// Mean and standard deviation of each target at each row, and the interval of this level.
    #[pyo3(signature = (x, threads, noise_std=None, level=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
        noise_std: Option<PyReadonlyArray1<'py, f64>>,
        level: Option<f64>,
    ) -> PyResult<Vec<Predicted<'py>>> {
        let x = matrix(&x)?;
        let noise = noise_std.as_ref().map(slice).transpose()?;
        // Mean, standard deviation, lower and upper end.
        let ends = if level.is_some() { x.rows() } else { 0 };
        let room = [x.rows(), x.rows(), ends, ends];
        let mut parts: Vec<[Vec<f64>; 4]> =
            self.targets.iter().map(|_| room.map(Vec::with_capacity)).collect();
        let predict = |model: &Fitted, chunk: &[usize]| -> Result<_> {
            let rows = x.choose(chunk);
            let p = match noise {
                Some(noise) => {
                    let known: Vec<f64> = chunk.iter().map(|i| noise[*i]).collect();
                    model.predict_with_noise(rows, &known)?
                }
                None => model.predict(rows)?,
            };
            let ends = level.map(|level| p.interval(level)).transpose()?;
            Ok((p, ends))
        };
        self.chunks(py, x.rows(), threads, predict, |k, (p, ends)| {
            let [mean, std, lower, upper] = &mut parts[k];
            std.append(&mut p.std());
            mean.extend(p.mean);
            if let Some((mut low, mut high)) = ends {
                lower.append(&mut low);
                upper.append(&mut high);
            }
        })?;
        let arrays = |[mean, std, lower, upper]: [Vec<f64>; 4]| {
            let ends = level.map(|_| (array(py, lower), array(py, upper)));
            (array(py, mean), array(py, std), ends)
        };
        Ok(parts.into_iter().map(arrays).collect())
    }

    /// Mean of each target at the rows, and the covariance of f there; or of the function of one
    /// sub-kernel alone.
    #[pyo3(signature = (x, threads, component=None))]
    fn joint<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
        component: Option<usize>,
    ) -> PyResult<Vec<(Array<'py>, Array2<'py>)>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| match component {
            Some(j) => model.component_joint(j, x),
            None => model.joint(x),
        })?;
        all.into_iter().map(|(mean, cov)| Ok((array(py, mean), array_2d(py, cov)?))).collect()
    }

    /// Functions drawn at the rows, one row per function: whether from the prior, and whether with
    /// noise.
    fn functions<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        count: usize,
        seed: u64,
        prior_and_noise: (bool, bool),
        threads: usize,
    ) -> PyResult<Vec<Array2<'py>>> {
        let (prior, noise) = prior_and_noise;
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| {
            let functions = if prior {
                model.prior_functions(count, seed)?
            } else {
                model.functions(count, seed)?
            };
            if noise { functions.observe(x, seed) } else { functions.evaluate(x) }
        })?;
        all.into_iter().map(|f| array_2d(py, f)).collect()
    }

    /// Mean and standard deviation of each sub-kernel's function at the rows: one row per function.
    fn components<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<Vec<(Array<'py>, Array<'py>)>>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| model.components(x))?;
        let root = |variance: Vec<f64>| variance.into_iter().map(f64::sqrt).collect();
        let arrays = |c: raysum::Component| (array(py, c.mean), array(py, root(c.variance)));
        Ok(all.into_iter().map(|target| target.into_iter().map(arrays).collect()).collect())
    }

    /// Gradient of the mean along each column at the rows.
    fn gradient<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<Array2<'py>>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| model.mean_gradient(x))?;
        all.into_iter().map(|slopes| array_2d(py, slopes)).collect()
    }

    /// The standard deviation of the noise at each row.
    fn noise_std<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<Array<'py>>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| model.noise_std_at(x))?;
        Ok(all.into_iter().map(|std| array(py, std)).collect())
    }

    /// The predicted probability of a value below the one observed, for each target at each row.
    fn cdf<'py>(&self, py: Python<'py>, rows: Rows, threads: usize) -> PyResult<Vec<Array<'py>>> {
        let all = rows.borrow(py, true, |data| {
            self.by_target(py, threads, data, |model, data| {
                model.predict(data.x())?.cdf(data.targets()[0])
            })
        })?;
        Ok(all.into_iter().map(|below| array(py, below)).collect())
    }

    /// Leave-one-out mean and standard deviation at each training row.
    fn leave_one_out<'py>(
        &self,
        py: Python<'py>,
        rows: Rows,
        threads: usize,
    ) -> PyResult<Vec<(Array<'py>, Array<'py>)>> {
        let all =
            rows.borrow(py, true, |data| self.by_target(py, threads, data, Fitted::leave_one_out))?;
        let arrays = |p: Prediction| {
            let std = p.std();
            (array(py, p.mean), array(py, std))
        };
        Ok(all.into_iter().map(arrays).collect())
    }

    /// The model updated with more rows, at the same hyperparameters.
    fn updated(&self, py: Python<'_>, rows: Rows, threads: usize) -> PyResult<Self> {
        let targets = rows.borrow(py, true, |data| {
            self.by_target(py, threads, data, |model, data| {
                let mut model = model.clone();
                model.update(data)?;
                Ok(model)
            })
        })?;
        Ok(Self { targets })
    }
}

impl Model {
    /// One result per target, from the rows with that target alone.
    fn by_target<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        data: &Dataset<'_>,
        body: impl Fn(&Fitted, &Dataset<'_>) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let (expected, found) = (self.targets.len(), data.targets().len());
        if found != expected {
            return Err(to_python(raysum::Error::TargetCount { expected, found }));
        }
        let one = |(k, model): (usize, &Fitted)| {
            compute(py, threads, || body(model, &data.one_target(k)))
        };
        self.targets.iter().enumerate().map(one).collect()
    }
}
