//! Baselines: a constant, and linear regression on all columns.

use raysum::{MatrixRef, Prediction, Result};

/// Predicts the training mean, with the training variance.
pub(crate) fn constant(y: &[f64], rows: usize) -> Prediction {
    let mean = y.iter().sum::<f64>() / y.len() as f64;
    let variance = y.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / y.len() as f64;
    spread(vec![mean; rows], variance)
}

/// Least squares on all columns, with the residual variance.
pub(crate) fn linear(x: MatrixRef<'_>, y: &[f64], x_new: MatrixRef<'_>) -> Result<Prediction> {
    let coefficients = least_squares(x, y)?;
    let predict = |x: MatrixRef<'_>| -> Result<Vec<f64>> {
        (0..x.rows()).map(|i| Ok(dot(&coefficients, &with_one(x, i)?))).collect()
    };
    let fitted = predict(x)?;
    let squares: f64 = y.iter().zip(&fitted).map(|(y, f)| (y - f).powi(2)).sum();
    let freedom = x.rows().saturating_sub(coefficients.len()).max(1);
    Ok(spread(predict(x_new)?, squares / freedom as f64))
}

fn spread(mean: Vec<f64>, variance: f64) -> Prediction {
    let n = mean.len();
    Prediction::new(mean, vec![variance.sqrt(); n], &vec![0.0; n])
}

fn with_one(x: MatrixRef<'_>, row: usize) -> Result<Vec<f64>> {
    let mut values = vec![1.0; 1 + x.columns()];
    x.copy_row(row, &mut values[1..])?;
    Ok(values)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Solves the normal equations by elimination. A pivot that vanishes belongs to a column that the
/// others already span (one-hot columns sum to 1): its coefficient is 0.
fn least_squares(x: MatrixRef<'_>, y: &[f64]) -> Result<Vec<f64>> {
    let size = x.columns() + 1;
    let mut a = vec![vec![0.0; size + 1]; size];
    for (i, y) in y.iter().enumerate() {
        let row = with_one(x, i)?;
        for r in 0..size {
            for c in 0..size {
                a[r][c] += row[r] * row[c];
            }
            a[r][size] += row[r] * y;
        }
    }
    let scale: Vec<f64> = (0..size).map(|k| a[k][k]).collect();
    for k in 0..size {
        if a[k][k] <= 1e-9 * scale[k] {
            a[k].fill(0.0);
            continue;
        }
        let pivot_row = a[k].clone();
        for r in (0..size).filter(|r| *r != k) {
            let factor = a[r][k] / pivot_row[k];
            a[r].iter_mut().zip(&pivot_row).for_each(|(v, p)| *v -= factor * p);
        }
    }
    Ok((0..size).map(|k| if a[k][k] == 0.0 { 0.0 } else { a[k][size] / a[k][k] }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use raysum::Matrix;

    #[test]
    fn a_line_is_found_even_with_columns_that_repeat_each_other() {
        let x = Matrix::from_fn(8, 3, |i, j| match j {
            0 => i as f64,
            1 => f64::from(u8::from(i % 2 == 0)),
            _ => f64::from(u8::from(i % 2 == 1)),
        });
        let y: Vec<f64> = (0..8).map(|i| 3.0 + 2.0 * x[(i, 0)] + 5.0 * x[(i, 1)]).collect();
        let p = linear((&x).into(), &y, (&x).into()).unwrap();
        for (found, truth) in p.mean.iter().zip(&y) {
            assert!((found - truth).abs() < 1e-9);
        }
    }
}
