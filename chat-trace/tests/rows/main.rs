//! Laws of rows over trees made at random: unique and stable ids, total and bounded rows, a view that is always what a projection
//! from scratch gives.

mod bounds;
mod changes;
mod json;
mod order;
mod play;
mod requests;
