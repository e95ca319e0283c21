//! Random workflows, in which what they wait for arrives in random orders, against what a straight reading of the tree says is
//! right (laws W1 to W3, W6, R2, T5, T6). `PROPTEST_CASES` sets how many.

#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod checks;
mod plan;
mod reference;
mod stage;
mod wait;
mod workshop;

use proptest::prelude::*;

fn cases() -> u32 {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default().cases,
        None => 400,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]
    #[test]
    fn w1_w2_w3_w6_any_workflow_comes_to_what_its_tree_says(case in plan::case()) {
        stage::play(&case);
    }
}
