//! The laws of turns where they meet stores on a disk: a file store and an SQLite database, each opened as often as there are
//! processes. What the laws say in detail is proved over memory, in `tests/laws`; here, that real stores keep to it.

#[cfg(test)]
mod copies;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unwritten;
