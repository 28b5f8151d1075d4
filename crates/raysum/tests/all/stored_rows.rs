//! Rows in a file and rows in memory lead to the same bits.

use crate::common::{normals, with};
use raysum::settings::EngineChoice;
use raysum::{Config, Dataset, Matrix, MatrixRef, Model, RowStore};

fn table(n: usize, d: usize) -> (Matrix, Vec<f64>) {
    let mut normal = normals(7, 0);
    let x = Matrix::from_fn(n, d, |_, j| 3.0 * normal() * (j + 1) as f64);
    let y = (0..n).map(|i| x[(i, 0)].sin() + 0.1 * x[(i, d - 1)] + 0.05 * normal()).collect();
    (x, y)
}

fn stored(x: &Matrix) -> RowStore {
    let mut store = RowStore::new_in(std::env::temp_dir(), x.columns()).unwrap();
    x.as_slice().chunks(100 * x.columns()).for_each(|rows| store.push(rows).unwrap());
    store
}

fn bits(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.raysum");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn fits_are_the_same_to_the_bit() {
    let cases = [
        // Every engine; stages and samples above 2,000 rows; equal rows; learned directions.
        (10_500, "gam", EngineChoice::Auto),
        (300, "dpa-ard", EngineChoice::Dense),
        (300, "matern12-ard", EngineChoice::Neighbors),
        (600, "rpa-1", EngineChoice::Ski),
        (2_100, "gam", EngineChoice::Weight),
        (120, "ppr", EngineChoice::Auto),
    ];
    for (n, preset, engine) in cases {
        let (x, y) = table(n, 5);
        let config = with(Config::preset(preset).unwrap(), |c| {
            c.engine = engine;
            c.max_evaluations = Some(3);
            // With more projections these would take most of the time of all tests here.
            if engine == EngineChoice::Ski || preset == "ppr" {
                c.terms[0].degrees = "4x1".parse().unwrap();
            }
        });
        let store = stored(&x);
        let fit = |x: MatrixRef<'_>, y: &[f64]| config.fit(&Dataset::new(x, y).unwrap()).unwrap();
        let (memory, file) = (fit((&x).into(), &y), fit((&store).into(), &y));
        assert!(bits(&memory) == bits(&file), "{preset}");
        let (others, some): (Vec<usize>, Vec<usize>) = (0..n).partition(|i| i % 9 == 4);
        let y: Vec<f64> = some.iter().map(|i| y[*i]).collect();
        let x = MatrixRef::from(&x).choose(&some);
        let store = MatrixRef::from(&store).without(&others);
        assert!(bits(&fit(x, &y)) == bits(&fit(store, &y)), "{preset}, some rows");
        let (memory, file) = (memory.predict(x).unwrap(), file.predict(store).unwrap());
        assert_eq!(
            (memory.mean.as_slice(), memory.std()),
            (file.mean.as_slice(), file.std()),
            "{preset}"
        );
    }
}
