//! The ids of a trace's nodes: each is given once (law P2).

use std::{collections::BTreeSet, sync::Arc};

#[derive(Debug, Default)]
pub(crate) struct Names(BTreeSet<Arc<str>>);

impl Names {
    /// The id, or one like it where another node has that: authors name steps as they like.
    pub(crate) fn take(&mut self, id: impl Into<String>) -> Arc<str> {
        let mut id = id.into();
        while self.0.contains(id.as_str()) {
            id.push('+');
        }
        let id: Arc<str> = id.into();
        self.0.insert(id.clone());
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p2_no_two_nodes_have_one_id() {
        let mut names = Names::default();
        let ids = ["0", "draft", "0", "0"].map(|id| names.take(id));
        assert_eq!(ids.each_ref().map(|id| &**id), ["0", "draft", "0+", "0++"]);
    }
}
