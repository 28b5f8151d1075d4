//! What the fuzzers call: everything that reads what somebody else wrote. Each takes any bytes and
//! ends without a panic, or has found a bug.

use crate::args::{Args, Command};
use crate::table::{self, Encoding, Missing, Scan};
use clap::Parser;
use raysum::{Matrix, Model};

/// Reads a table, learns its encoding, and encodes it.
pub fn table(bytes: &[u8]) {
    let Ok(scan) = Scan::from_memory("t", bytes) else { return };
    let learn = |spec| {
        let target = table::find_column(&scan.survey, spec).expect("there is a column");
        let encoding = Encoding::learn(&scan.survey, target, &table::Chosen::default()).ok()?;
        encoding.validate().expect("what was learned is valid");
        Some(encoding)
    };
    let encodings: Vec<Encoding> = ["0", "-1"].into_iter().filter_map(learn).collect();
    let _ = scan.into_parts(|part| {
        for encoding in &encodings {
            for missing in [Missing::Error, Missing::Drop, Missing::Mean] {
                let Ok(encoded) = encoding.apply_part(&part, missing, true) else { continue };
                assert!(encoded.x.iter().all(|v| v.is_finite()), "X is finite");
                assert_eq!(encoded.x.len(), encoded.rows * encoded.cols);
            }
        }
        Ok(())
    });
}

/// Reads a model, as it is and with its checksum put right, and predicts.
pub fn model(bytes: &[u8]) {
    for bytes in [Some(bytes.to_vec()), raysum::fuzzing::resealed(bytes)].into_iter().flatten() {
        let Ok(models) = Model::from_bytes(&bytes) else { continue };
        for model in &models {
            let x = Matrix::from_fn(3, model.columns(), |i, _| [0.0, 1.0, -1e300][i]);
            if let Ok(p) = model.predict(&x) {
                assert!(p.mean.iter().chain(&p.variance).all(|v| v.is_finite()), "finite");
                assert!(p.variance.iter().all(|v| *v >= 0.0), "no negative variance");
            }
        }
    }
}

/// Reads a command line, and resolves it.
pub fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words = std::iter::once("raysum").chain(text.split_whitespace());
    let Ok(args) = Args::try_parse_from(words) else { return };
    if let Command::Fit(fit) = &args.command
        && let Ok(config) = fit.settings.config(&fit.model)
    {
        config.check().expect("what was resolved is valid");
    }
}
