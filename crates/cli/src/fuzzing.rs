//! Entry points of the fuzzers: everything that reads untrusted input. Each takes any bytes, and a
//! panic is a bug.

use crate::args::{Args, Command, Recipe};
use clap::Parser;
use raysum::Labels;
use raysum::schema::Schema;
use raysum::{Matrix, Stack};
use raysum_table::{
    CsvOptions, EncodeOptions, Missing, Notation, PredictionOptions, ScannedTable, SchemaOptions,
    TableFile, TableSchema, read_all_new,
};

/// Reads a table, infers its schema, encodes it, and reads it again for that schema.
pub fn table(bytes: &[u8]) {
    let file = TableFile::from_bytes("t", bytes, CsvOptions::default());
    let Ok(scan) = ScannedTable::new(&file, Notation::default(), u64::MAX) else { return };
    let learn = |(spec, missing)| {
        let target = scan.stats.find_column(spec).expect("there is a column");
        let labels = Labels::of_targets(vec![target]);
        let options = SchemaOptions { missing, categories: 3, ..SchemaOptions::default() };
        let (schema, _) = Schema::infer(&scan.stats, &labels, &options).ok()?;
        schema.validate().expect("what was inferred is valid");
        Some(schema)
    };
    let tasks = [("0", Missing::Error), ("-1", Missing::Error), ("-1", Missing::Indicate)];
    let schemas: Vec<Schema> = tasks.into_iter().filter_map(learn).collect();
    let policies = [Missing::Error, Missing::Drop, Missing::Mean, Missing::Indicate];
    let _ = scan.into_chunks(|chunk| {
        for schema in &schemas {
            for missing in policies {
                let options = EncodeOptions { missing, with_labels: true, fitting: true };
                let Ok(encoded) = schema.encode(&chunk, options) else { continue };
                check(&encoded.x, encoded.kept.len());
            }
        }
        Ok(())
    });
    for schema in &schemas {
        for missing in policies {
            let options = PredictionOptions { missing, ..PredictionOptions::default() };
            let Ok((all, _)) = read_all_new(&file, schema, &options) else { continue };
            all.iter().for_each(|rows| check(&rows.x, rows.kept.len()));
        }
    }
}

fn check(x: &Matrix, rows: usize) {
    assert!(x.as_slice().iter().all(|v| v.is_finite()), "X is finite");
    assert_eq!(x.rows(), rows);
}

/// Reads a model, unchanged and with its checksum corrected, and predicts.
pub fn model(bytes: &[u8]) {
    for bytes in [Some(bytes.to_vec()), raysum::fuzzing::resealed(bytes)].into_iter().flatten() {
        let Ok(stacks) = Stack::from_bytes(&bytes) else { continue };
        for stack in &stacks {
            let x = Matrix::from_fn(3, stack.columns(), |i, _| [0.0, 1.0, -1e300][i]);
            if let Ok(p) = stack.predict(&x) {
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
        && let Ok(Recipe::One(config)) = fit.settings.recipe(&fit.model, fit.effort)
    {
        config.check().expect("what was resolved is valid");
    }
}
