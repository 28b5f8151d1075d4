//! Models of engines that can do no more than every engine must.

use super::*;
use crate::config::EngineChoice;
use crate::engine::Tensor;

/// Another posterior without any of its abilities.
#[derive(Debug)]
struct Core(Arc<dyn Posterior>);

impl Posterior for Core {
    fn engine(&self) -> &'static str {
        "core"
    }

    fn prior(&self) -> &Prior {
        self.0.prior()
    }

    fn mean_of_projected(&self, z: Vec<f64>, rows: usize) -> Vec<f64> {
        self.0.mean_of_projected(z, rows)
    }

    fn marginals(&self, x: &Matrix) -> Marginals {
        self.0.marginals(x)
    }

    fn joint(&self, x: &Matrix) -> (Vec<f64>, Matrix) {
        self.0.joint(x)
    }

    fn joint_width(&self) -> usize {
        self.0.joint_width()
    }

    fn mean_slopes(&self, x: &Matrix) -> Matrix {
        self.0.mean_slopes(x)
    }

    fn tensors(&self) -> Vec<Tensor> {
        self.0.tensors()
    }
}

#[test]
fn what_an_engine_cannot_do_is_an_error_that_names_it() {
    let x = Matrix::from_fn(30, 2, |i, j| ((i * (3 + j)) % 11) as f64);
    let y: Vec<f64> = (0..30).map(|i| x[(i, 0)].sin() + x[(i, 1)]).collect();
    let data = Dataset::new(&x, &y).unwrap();
    let config = Config { engine: EngineChoice::Weight, ..Config::preset("gam").unwrap() };
    let whole = config.fit(&data).unwrap();
    let mut model = whole.clone();
    model.posterior = Arc::new(Core(Arc::clone(&whole.posterior)));

    assert_eq!(model.predict(&x).unwrap(), whole.predict(&x).unwrap());
    assert_eq!(model.joint(&x).unwrap(), whole.joint(&x).unwrap());
    assert_eq!(model.mean_gradient(&x).unwrap(), whole.mean_gradient(&x).unwrap());
    assert_eq!((model.features(), model.likelihood_error()), (None, 0.0));
    assert!(model.prior_functions(2, 0).unwrap().evaluate(&x).is_ok());

    let refused = [
        (model.components(&x).map(drop), "components"),
        (model.component_joint(0, &x).map(drop), "components"),
        (model.variance_gradient(&x).map(drop), "gradients of the variance"),
        (model.functions(2, 0).map(drop), "drawing functions"),
        (model.leave_one_out(&data).map(drop), "leave-one-out predictions"),
        (model.clone().update(&data), "changes of its rows"),
        (model.clone().remove(&data), "changes of its rows"),
    ];
    for (answer, what) in refused {
        let expected = format!(
            "a model of the core engine does not support {what}; the weight and the dense engine do"
        );
        assert_eq!(answer.unwrap_err().to_string(), expected);
    }
    // Sums of rows that another engine made are no use.
    let shard = crate::Shard {
        fingerprint: model.shard(&data).unwrap().fingerprint,
        ..whole.shard(&data).unwrap()
    };
    assert!(shard.statistics.is_some());
    assert!(matches!(model.merge(&[shard]), Err(Error::NotForThisModel { shard: None })));
}
