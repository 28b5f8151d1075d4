//! The limit of a sum of kernels over many directions (the paper's Proposition 1).

use raysum::settings::SubKernel;

/// The distribution of a direction η, which decides the limit E κ(η·τ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DirectionLaw {
    /// η ~ N(0, I_d).
    Gaussian,
    /// η uniform on the unit sphere in this many dimensions (the limit of diverse directions too).
    Sphere(usize),
}

/// E κ(η·τ) for |τ| = `r`: what (1/J) Σ_j κ(η_j·τ) tends to as J grows, with one-dimensional
/// sub-kernels.
///
/// For Gaussian directions the RBF gives the inverse multiquadric and the cosine gives the RBF
/// (the paper's corollaries), in closed form; the others are computed by quadrature to about
/// 1e-10 (1e-6 for Matérn 1/2, whose kink slows it).
pub(crate) fn expected_kernel(kernel: SubKernel, law: DirectionLaw, r: f64) -> f64 {
    match (law, kernel) {
        (DirectionLaw::Gaussian, SubKernel::Rbf) => 1.0 / (1.0 + r * r).sqrt(),
        (DirectionLaw::Gaussian, SubKernel::Cosine) => (-0.5 * r * r).exp(),
        (DirectionLaw::Gaussian, _) => mean(kernel, r, 0.0, 10.0, |t| ((-0.5 * t * t).exp(), t)),
        (DirectionLaw::Sphere(0 | 1), _) => kernel.value(r * r),
        (DirectionLaw::Sphere(d), _) => {
            // η·e₁ = cos θ with density ∝ sin^{d−2} θ; half the sphere suffices by symmetry.
            let power = d as f64 - 2.0;
            mean(kernel, r, 0.0, std::f64::consts::FRAC_PI_2, |t| (t.cos().powf(power), t.sin()))
        }
    }
}

/// ∫ density(t) κ(r·η(t)) dt / ∫ density(t) dt over [from, to] by Simpson's rule.
fn mean(
    kernel: SubKernel,
    r: f64,
    from: f64,
    to: f64,
    density_and_direction: impl Fn(f64) -> (f64, f64),
) -> f64 {
    const PANELS: usize = 4000;
    let step = (to - from) / PANELS as f64;
    let (mut sum, mut mass) = (0.0, 0.0);
    for i in 0..=PANELS {
        let weight = match i {
            0 | PANELS => 1.0,
            i if i % 2 == 1 => 4.0,
            _ => 2.0,
        };
        let (density, eta) = density_and_direction(from + step * i as f64);
        mass += weight * density;
        sum += weight * density * kernel.value((r * eta).powi(2));
    }
    sum / mass
}

#[cfg(test)]
mod tests {
    use super::*;
    use raysum::fitted::Projections;
    use raysum::settings::Directions;

    #[test]
    fn quadrature_agrees_with_the_closed_forms() {
        for r in [0.0, 0.3, 1.0, 4.0] {
            let by_quadrature =
                |kernel| mean(kernel, r, 0.0, 10.0, |t: f64| ((-0.5 * t * t).exp(), t));
            let imq = expected_kernel(SubKernel::Rbf, DirectionLaw::Gaussian, r);
            assert!((by_quadrature(SubKernel::Rbf) - imq).abs() < 1e-12);
            let rbf = expected_kernel(SubKernel::Cosine, DirectionLaw::Gaussian, r);
            assert!((by_quadrature(SubKernel::Cosine) - rbf).abs() < 1e-12);
        }
        // On the sphere in 3 dimensions η₁ is uniform: E cos(rη) = sin(r)/r.
        let sinc = expected_kernel(SubKernel::Cosine, DirectionLaw::Sphere(3), 2.0);
        assert!((sinc - 2.0_f64.sin() / 2.0).abs() < 1e-10);
        // In the plane E cos(r cos θ) is the Bessel function J₀; J₀(1) from tables.
        let bessel = expected_kernel(SubKernel::Cosine, DirectionLaw::Sphere(2), 1.0);
        assert!((bessel - 0.765_197_686_557_966_6).abs() < 1e-10);
    }

    /// Root-mean-square error of the J-direction kernel to its limit over many points at radius 1.
    fn rms_error(kind: Directions, law: DirectionLaw, j: usize, d: usize, seeds: u64) -> f64 {
        let limit = expected_kernel(SubKernel::Rbf, law, 1.0);
        let mut sum = 0.0;
        let points = Projections::choose(Directions::Sphere, &[1; 200], d, 1234).unwrap().matrix();
        for seed in 0..seeds {
            let p = Projections::choose(kind, &vec![1; j], d, seed).unwrap().matrix();
            for i in 0..200 {
                let tau = points.row(i);
                let mut k = 0.0;
                for row in 0..j {
                    let z: f64 = p.row(row).iter().zip(tau).map(|(a, b)| a * b).sum();
                    k += SubKernel::Rbf.value(z * z) / j as f64;
                }
                sum += (k - limit).powi(2) / (200.0 * seeds as f64);
            }
        }
        sum.sqrt()
    }

    #[test]
    fn the_error_of_random_directions_falls_as_the_root_of_their_number() {
        let at = |j| rms_error(Directions::Gaussian, DirectionLaw::Gaussian, j, 6, 40);
        let (a, b, c) = (at(10), at(40), at(160));
        // Four times the directions, half the error: slope −1/2 on a log-log plot.
        assert!((a / b - 2.0).abs() < 0.4, "{a} {b}");
        assert!((b / c - 2.0).abs() < 0.4, "{b} {c}");
    }

    #[test]
    fn diverse_directions_come_closer_to_the_limit() {
        for (j, d, gain) in [(32, 8, 3.0), (24, 3, 20.0)] {
            let random = rms_error(Directions::Sphere, DirectionLaw::Sphere(d), j, d, 5);
            let diverse = rms_error(Directions::Diverse, DirectionLaw::Sphere(d), j, d, 5);
            assert!(diverse * gain < random, "d = {d}, J = {j}: {diverse} against {random}");
        }
    }

    #[test]
    fn the_energy_comes_closer_still_where_d_is_small() {
        for (j, d, gain) in [(32, 8, 1.1), (24, 3, 3.0)] {
            let at = |kind| rms_error(kind, DirectionLaw::Sphere(d), j, d, 5);
            let (diverse, energy) = (at(Directions::Diverse), at(Directions::Energy));
            assert!(energy * gain < diverse, "d = {d}, J = {j}: {energy} against {diverse}");
        }
        // It also works in many dimensions.
        let at = |kind| rms_error(kind, DirectionLaw::Sphere(20), 160, 20, 2);
        let (random, energy) = (at(Directions::Sphere), at(Directions::Energy));
        assert!(energy * 2.0 < random, "{energy} against {random}");
    }
}
