//! One suite for all engines, and what is particular to each of them.

mod cases;
mod conformance;
mod neighbors;
mod observations;
mod reference;
mod ski;
