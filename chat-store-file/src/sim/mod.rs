//! The store on a simulated machine, for tests: a disk that tells what was issued from what was synced, and processes that are
//! killed, lose power or meet errors at any operation. No threads, no runtime, no time: a seed's number says all.

mod cases;
mod client;
mod fault;
mod inode;
mod model;
mod process;
mod run;
mod tests;
mod world;
