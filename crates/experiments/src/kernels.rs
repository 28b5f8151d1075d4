//! Figure 1 and Proposition 2: kernels in the plane, and how fast sums of projections converge to
//! their limit.

use crate::chart::{self, Axis, Field, Look, Marker, Panel, Series};
use crate::limit::{DirectionLaw, expected_kernel};
use crate::page::{Figure, Section};
use crate::paper;
use crate::run::Run;
use anyhow::{Context, Result};
use raysum::Matrix;
use raysum::fitted::Projections;
use raysum::settings::{Directions, SubKernel};
use raysum_cli::output;
use std::path::Path;

pub(crate) const NAME: &str = "kernels";

const HEADER: &str = "directions,d,j,rms_error";
const DIMENSIONS: [usize; 3] = [2, 8, 32];
const MOST: usize = 1_024;
const QUICK_MOST: usize = 64;
/// Distances at which a kernel is compared with its limit, and points at each.
const RADII: [f64; 3] = [0.5, 1.0, 2.0];
const POINTS: usize = 200;
const DRAWS: u64 = 5;
/// Projections of the contour plots, as in the paper.
const SHOWN: usize = 16;

/// The kinds of directions compared: a model's name stands for its directions.
const KINDS: [(&str, Directions); 2] =
    [("rpa-ard", Directions::Gaussian), ("dpa-ard", Directions::Diverse)];

/// One point of the figure.
struct Point {
    model: String,
    d: usize,
    j: usize,
    error: f64,
}

pub(crate) fn run(run: &Run) -> Result<()> {
    let most = if run.quick { QUICK_MOST } else { MOST };
    let mut text = format!("{HEADER}\n");
    for d in DIMENSIONS {
        let mut j = 1;
        while j <= most {
            for (model, kind) in KINDS {
                let error = rms_error(kind, j, d, run.seed)?;
                text += &format!("{model},{d},{j},{error}\n");
            }
            j *= 2;
        }
    }
    output::write(&path(&run.output), |out| out.write_all(text.as_bytes()))
}

fn path(folder: &Path) -> std::path::PathBuf {
    folder.join(format!("{NAME}.csv"))
}

/// Root-mean-square error of the sum over J directions to its limit.
fn rms_error(kind: Directions, j: usize, d: usize, seed: u64) -> Result<f64> {
    let law = match kind {
        Directions::Gaussian => DirectionLaw::Gaussian,
        _ => DirectionLaw::Sphere(d),
    };
    let far = seed.wrapping_add(1_000);
    let points = Projections::choose(Directions::Sphere, &[1; POINTS], d, far)?.matrix();
    let mut sum = 0.0;
    for draw in 0..DRAWS {
        let draw = seed.wrapping_add(draw);
        let directions = Projections::choose(kind, &vec![1; j], d, draw)?.matrix();
        for radius in RADII {
            let limit = expected_kernel(SubKernel::Rbf, law, radius);
            for i in 0..POINTS {
                let tau: Vec<f64> = points.row(i).iter().map(|v| radius * v).collect();
                sum += (value(&directions, &tau) - limit).powi(2);
            }
        }
    }
    Ok((sum / (DRAWS as usize * RADII.len() * POINTS) as f64).sqrt())
}

/// (1/J) Σ_j κ(η_j·τ).
fn value(eta: &Matrix, tau: &[f64]) -> f64 {
    let one = |j: usize| {
        let z: f64 = eta.row(j).iter().zip(tau).map(|(a, b)| a * b).sum();
        SubKernel::Rbf.value(z * z)
    };
    (0..eta.rows()).map(one).sum::<f64>() / eta.rows() as f64
}

fn read(folder: &Path) -> Result<Vec<Point>> {
    let path = path(folder);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let point = |line: &str| -> Option<Point> {
        let cells: Vec<&str> = line.split(',').collect();
        let [model, d, j, error] = cells[..] else { return None };
        let (d, j, error) = (d.parse().ok()?, j.parse().ok()?, error.parse().ok()?);
        Some(Point { model: model.into(), d, j, error })
    };
    text.lines()
        .skip(1)
        .map(|line| point(line).with_context(|| format!("{}: '{line}'", path.display())))
        .collect()
}

pub(crate) fn section(folder: &Path, seed: u64) -> Result<Section> {
    let points = read(folder)?;
    let most = points.iter().map(|p| p.j).max().unwrap_or(1);
    let error = |model: &str, d: usize, j: usize| {
        let found = points.iter().find(|p| p.model == model && p.d == d && p.j == j);
        found.map_or(f64::NAN, |p| p.error)
    };
    let errors: Vec<String> = DIMENSIONS
        .iter()
        .map(|&d| {
            let [rpa, dpa] = KINDS.map(|(model, _)| {
                let (first, last) = (error(model, d, 1), error(model, d, most));
                let power = (last / first).ln() / (most as f64).ln();
                format!("{last:.1e} (J^{power:.2} on the whole)")
            });
            format!("d = {d}: RPA {rpa}, DPA {dpa}")
        })
        .collect();
    Ok(Section {
        id: NAME,
        title: "Kernels, and their convergence",
        paper: "With enough projections the covariance is approximately spherical, and well placed \
                directions get there sooner; the error to the expected kernel falls at least as \
                J^(-1/2).",
        found: vec![format!("The error at J = {most} is for {}.", errors.join("; "))],
        figures: vec![contours(seed)?, convergence(&points)?],
        tables: Vec::new(),
    })
}

fn contours(seed: u64) -> Result<Figure> {
    let rbf = |x: f64, y: f64| SubKernel::Rbf.value(x * x + y * y);
    let gam =
        |x: f64, y: f64| f64::midpoint(SubKernel::Rbf.value(x * x), SubKernel::Rbf.value(y * y));
    let choose =
        |kind| Ok::<_, raysum::Error>(Projections::choose(kind, &[1; SHOWN], 2, seed)?.matrix());
    let (random, diverse) = (choose(Directions::Gaussian)?, choose(Directions::Diverse)?);
    let rpa = |x: f64, y: f64| value(&random, &[x, y]);
    let dpa = |x: f64, y: f64| value(&diverse, &[x, y]);
    let fields = [
        Field { title: "RBF".into(), value: &rbf },
        Field { title: "GAM".into(), value: &gam },
        Field { title: format!("RPA, J = {SHOWN}"), value: &rpa },
        Field { title: format!("DPA, J = {SHOWN}"), value: &dpa },
    ];
    Ok(Figure {
        file: "kernels.svg".into(),
        svg: chart::contours(&fields, 4.0, "τ₁", "τ₂")?,
        caption: "Covariance against the difference τ of two points in the plane, unit \
                  length-scales."
            .into(),
    })
}

fn convergence(points: &[Point]) -> Result<Figure> {
    let panel = |d: usize| {
        let of = |model: &str| -> Vec<(f64, f64)> {
            let of = points.iter().filter(|p| p.model == model && p.d == d);
            of.map(|p| (p.j as f64, p.error)).collect()
        };
        let mut series: Vec<Series> = KINDS
            .iter()
            .zip(["RPA (Gaussian directions)", "DPA (diverse directions)"])
            .map(|((model, _), name)| Series {
                name: name.into(),
                look: paper::look_of(model),
                points: of(model),
                band: Vec::new(),
            })
            .collect();
        if let Some(&(_, first)) = of(KINDS[0].0).first() {
            let end = points.iter().map(|p| p.j as f64).fold(1.0, f64::max);
            series.push(Series {
                name: "J^(-1/2)".into(),
                look: Look { colour: 6, dashed: true, marker: Marker::None },
                points: vec![(1.0, first), (end, first / end.sqrt())],
                band: Vec::new(),
            });
        }
        Panel {
            title: format!("d = {d}"),
            x: Axis { label: "number of projections J".into(), log: true, range: None },
            y: Axis { label: "error to the limit".into(), log: true, range: None },
            series,
        }
    };
    Ok(Figure {
        file: "kernels-convergence.svg".into(),
        svg: chart::lines(&DIMENSIONS.map(panel), DIMENSIONS.len())?,
        caption: format!(
            "Root-mean-square error of (1/J) Σ κ(η·τ) to its expectation over {POINTS} points at \
             each of the distances {RADII:?}, RBF sub-kernels, {DRAWS} draws. The limit is the \
             inverse multiquadric for Gaussian directions and its like for the unit sphere."
        ),
    })
}
