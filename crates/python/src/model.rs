//! Fitted models, a stack per target, as one immutable Python object.

use crate::arrays::{Rows, array, array_2d, matrix, slice};
use crate::describe;
use crate::distributed::FrameSchema;
use crate::error::to_python;
use crate::frame::{self, EncodedFrame, GivenColumn, TrainingFrame};
use crate::shards::{self, SHARDS};
use crate::suggest::{self, GivenRange, Suggested};
use crate::threads::compute;
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use raysum::fitted::Component;
use raysum::schema::Schema;
use raysum::{Dataset, Prediction, Result, Shard, Stack};
use std::path::PathBuf;

/// Rows per thread that are predicted between two checks for signals.
const CHUNK: usize = 1024;

/// Fitted models: for each target one, or several that are mixed.
#[pyclass(frozen, module = "raysum._raysum")]
pub(crate) struct Model {
    pub(crate) targets: Vec<Stack>,
}

/// A one-dimensional and a two-dimensional array, with one entry per row.
type Array<'py> = Bound<'py, PyArray1<f64>>;
type Array2<'py> = Bound<'py, PyArray2<f64>>;
/// Mean, standard deviation, the ends of the interval, if requested, and quantiles.
type Predicted<'py> = (Array<'py>, Array<'py>, Option<(Array<'py>, Array<'py>)>, Vec<Array<'py>>);
/// The number of a member, and mean and standard deviation of one of its functions.
type MemberComponent<'py> = (usize, Array<'py>, Array<'py>);

/// Predictions of one target, chunk after chunk.
#[derive(Default)]
struct Parts {
    mean: Vec<f64>,
    std: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    quantiles: Vec<Vec<f64>>,
}

impl Parts {
    fn append(&mut self, mut next: Self) {
        self.mean.append(&mut next.mean);
        self.std.append(&mut next.std);
        self.lower.append(&mut next.lower);
        self.upper.append(&mut next.upper);
        for (all, mut part) in self.quantiles.iter_mut().zip(next.quantiles) {
            all.append(&mut part);
        }
    }
}

impl Model {
    /// One result per target.
    fn each<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        body: impl Fn(&Stack) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        self.targets.iter().map(|model| compute(py, threads, || body(model))).collect()
    }

    /// A copy for tables that are read by this schema.
    fn with_schema(&self, schema: &Schema) -> PyResult<Self> {
        let mut all = self.targets.clone();
        for (stack, target) in all.iter_mut().zip(&schema.labels.targets) {
            stack.set_schema(schema).map_err(to_python)?;
            stack.set_target_name(&target.name);
        }
        Ok(Self { targets: all })
    }

    /// One result per target and chunk of rows, with a check for signals after each chunk.
    fn chunks<T: Send>(
        &self,
        py: Python<'_>,
        rows: usize,
        threads: usize,
        mut body: impl FnMut(&Stack, &[usize]) -> Result<T> + Send,
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
        let targets = py.detach(|| Stack::load_all(path)).map_err(to_python)?;
        Ok(Self { targets })
    }

    /// Writes a model file atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| Stack::save_all(&self.targets, path)).map_err(to_python)
    }

    /// The bytes of a model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| Stack::to_bytes(&self.targets)).map_err(to_python)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Reads a model from the bytes of a model file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let targets = py.detach(|| Stack::from_bytes(bytes)).map_err(to_python)?;
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
        for (k, stack) in all.iter_mut().enumerate() {
            if let Some(columns) = &columns {
                stack.set_column_names(columns).map_err(to_python)?;
            }
            if let Some(name) = targets.as_ref().and_then(|names| names.get(k)) {
                stack.set_target_name(name);
            }
        }
        Ok(Self { targets: all })
    }

    /// A copy with the schema of the frame that it was fitted on.
    fn of_frame(&self, frame: &TrainingFrame) -> PyResult<Self> {
        self.with_schema(&frame.schema)
    }

    /// A copy with the schema that the partitions of a table agree on.
    fn of_schema(&self, schema: &FrameSchema) -> PyResult<Self> {
        self.with_schema(&schema.schema)
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
        let schema = raysum_table::schema_of(self.targets.iter().map(Stack::first));
        frame::encode(py, &schema, &columns, named, rows, missing)
    }

    /// Rows to try next: the name, the type and the cells of each column.
    fn suggest<'py>(
        &self,
        py: Python<'py>,
        target: usize,
        ranges: Vec<GivenRange>,
        settings: (usize, bool, u64),
        threads: usize,
    ) -> PyResult<Vec<Suggested<'py>>> {
        suggest::suggest(py, &self.targets, target, ranges, settings, threads)
    }

    /// A description without large arrays, as JSON.
    fn describe(&self) -> String {
        describe::described(&self.targets).to_string()
    }

    /// The projections of each target and of each term of its first member, one row per direction.
    fn directions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Array2<'py>>>> {
        let terms = |stack: &Stack| {
            let projections = stack.first().projections();
            projections.iter().map(|term| array_2d(py, term.matrix())).collect()
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

    /// Mean and standard deviation of each target at each row, the interval of this level, and the
    /// quantiles of these probabilities.
    #[pyo3(signature = (x, threads, noise_std=None, level=None, quantiles=None))]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
        noise_std: Option<PyReadonlyArray1<'py, f64>>,
        level: Option<f64>,
        quantiles: Option<Vec<f64>>,
    ) -> PyResult<Vec<Predicted<'py>>> {
        let x = matrix(&x)?;
        let noise = noise_std.as_ref().map(slice).transpose()?;
        let shares = quantiles.unwrap_or_default();
        let empty = || Parts { quantiles: vec![Vec::new(); shares.len()], ..Parts::default() };
        let mut parts: Vec<Parts> = self.targets.iter().map(|_| empty()).collect();
        let predict = |model: &Stack, chunk: &[usize]| -> Result<Parts> {
            let rows = x.choose(chunk);
            let p = match noise {
                Some(noise) => {
                    let known: Vec<f64> = chunk.iter().map(|i| noise[*i]).collect();
                    model.predict_with_noise(rows, &known)?
                }
                None => model.predict(rows)?,
            };
            let (lower, upper) = level.map(|l| p.interval(l)).transpose()?.unwrap_or_default();
            let quantiles = shares.iter().map(|share| p.quantile(*share)).collect::<Result<_>>()?;
            Ok(Parts { std: p.std(), mean: p.mean, lower, upper, quantiles })
        };
        self.chunks(py, x.rows(), threads, predict, |k, part| parts[k].append(part))?;
        let arrays = |Parts { mean, std, lower, upper, quantiles }: Parts| {
            let ends = level.map(|_| (array(py, lower), array(py, upper)));
            let quantiles = quantiles.into_iter().map(|values| array(py, values)).collect();
            (array(py, mean), array(py, std), ends, quantiles)
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
            Some(j) => model.require_single("the functions")?.component_joint(j, x),
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

    /// Mean and standard deviation of each sub-kernel's function at the rows, with the number of its
    /// member, by whose mixing weight it is multiplied.
    fn components<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<Vec<MemberComponent<'py>>>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| model.components(x))?;
        let root = |variance: Vec<f64>| variance.into_iter().map(f64::sqrt).collect();
        let arrays = |(member, c): (usize, Component)| {
            (member, array(py, c.mean), array(py, root(c.variance)))
        };
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

    /// The baseline of each target, and the contributions of columns at the rows.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        x: PyReadonlyArray2<'py, f64>,
        threads: usize,
    ) -> PyResult<Vec<(f64, Array2<'py>)>> {
        let x = matrix(&x)?;
        let all = self.each(py, threads, |model| model.explain(x))?;
        all.into_iter().map(|e| Ok((e.baseline, array_2d(py, e.contributions)?))).collect()
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
            rows.borrow(py, true, |data| self.by_target(py, threads, data, Stack::leave_one_out))?;
        let arrays = |p: Prediction| {
            let std = p.std();
            (array(py, p.mean), array(py, std))
        };
        Ok(all.into_iter().map(arrays).collect())
    }

    /// The model with more rows, or without some of its rows, at the same hyperparameters.
    fn updated(&self, py: Python<'_>, rows: Rows, remove: bool, threads: usize) -> PyResult<Self> {
        let targets = rows.borrow(py, true, |data| {
            self.by_target(py, threads, data, |model, data| {
                let mut model = model.clone();
                if remove {
                    model.remove(data)?;
                } else {
                    model.update(data)?;
                }
                Ok(model)
            })
        })?;
        Ok(Self { targets })
    }

    /// Writes the statistics of a shard of rows to a file; returns how many of its rows are kept
    /// whole.
    fn save_stats(
        &self,
        py: Python<'_>,
        rows: Rows,
        path: PathBuf,
        threads: usize,
    ) -> PyResult<usize> {
        let shards = rows.borrow(py, true, |data| {
            self.by_target(py, threads, data, |model, data| {
                model.require_single(SHARDS)?.shard(data)
            })
        })?;
        py.detach(|| Shard::save_all(&shards, path)).map_err(to_python)?;
        Ok(shards.iter().map(Shard::rows_beyond).max().unwrap_or(0))
    }

    /// The model with the rows of shards: beside its own rows or in place of them, and with equal
    /// shards refused or not.
    fn merged(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        replace: bool,
        repeated: bool,
    ) -> PyResult<Self> {
        py.detach(|| shards::merged(&self.targets, &paths, replace, repeated))
            .map(|targets| Self { targets })
    }
}

impl Model {
    /// One result per target, from the rows with that target alone.
    fn by_target<T: Send>(
        &self,
        py: Python<'_>,
        threads: usize,
        data: &Dataset<'_>,
        body: impl Fn(&Stack, &Dataset<'_>) -> Result<T> + Sync,
    ) -> PyResult<Vec<T>> {
        let (expected, found) = (self.targets.len(), data.targets().len());
        if found != expected {
            return Err(to_python(raysum::Error::TargetCount { expected, found }));
        }
        let one =
            |(k, model): (usize, &Stack)| compute(py, threads, || body(model, &data.one_target(k)));
        self.targets.iter().enumerate().map(one).collect()
    }
}
