//! The rows of a run as it goes on: of each new snapshot only what changed is read.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    vec,
};

use chat_core::{ApprovalRequest, TraceKind, TraceNode, TraceStatus, TraceTree};

use crate::{
    ProjectOptions, RowChange, TraceRow,
    approvals::{self, Placed},
    diff::{diff, in_order},
    ids::Ids,
    layout::{Layout, row_kind},
    project::site_of,
    write::{Site, Source, Writer},
};

/// The rows of one run, kept up to date: what [`project`](crate::project) gives of the last snapshot, and what changed with it.
///
/// Reuses the row of every node that is the very same in the next snapshot, which a run's snapshots share. After one node changed,
/// or came behind all others while no request waits, an update looks at each node's address and writes one row; after nodes were
/// added elsewhere or requests came or went, it finds all rows' places anew. Given a tree that is no later snapshot of the same run,
/// it starts over.
///
/// ```
/// use chat_core::{TraceKind, TraceNode, TraceStatus, TraceTree};
/// use chat_trace::{ProjectOptions, RowChange, TraceView};
///
/// let mut view = TraceView::new(ProjectOptions::default());
/// let mut tree = TraceTree::default();
/// let draft = tree.push(None, TraceNode::new("draft", TraceKind::Step, "draft"));
/// tree.push(None, TraceNode::new("review", TraceKind::Step, "review"));
/// assert_eq!(view.update(&tree, &[]).len(), 2);
///
/// tree.update(draft, |node| node.status = TraceStatus::Running);
/// match view.update(&tree, &[]).as_slice() {
///     [RowChange::Upsert { row, .. }] => assert_eq!(&*row.title, "Running draft"),
///     changes => panic!("{changes:?}"),
/// }
/// assert!(view.update(&tree, &[]).is_empty());
/// ```
#[derive(Debug)]
pub struct TraceView {
    options: ProjectOptions,
    /// The nodes of the last snapshot.
    nodes: Vec<Arc<TraceNode>>,
    /// Their rows' ids.
    ids: Vec<Arc<str>>,
    names: Ids,
    /// How many direct children of each failed.
    failed: Vec<u32>,
    layout: Layout,
    requests: Vec<Arc<ApprovalRequest>>,
    /// The rows of requests, in order.
    asked: Vec<Placed>,
    rows: Vec<Arc<TraceRow>>,
}

impl TraceView {
    /// A view of a run that has no rows yet. Requests come with each update; those of the options are not looked at.
    #[must_use]
    pub fn new(options: ProjectOptions) -> Self {
        Self {
            options,
            nodes: Vec::new(),
            ids: Vec::new(),
            names: Ids::default(),
            failed: Vec::new(),
            layout: Layout::default(),
            requests: Vec::new(),
            asked: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// The rows of the last snapshot, from top to bottom.
    #[must_use]
    pub fn rows(&self) -> &[Arc<TraceRow>] {
        &self.rows
    }

    /// Takes a snapshot and the requests that wait, as `Turn::requests` gives them. Gives what changed since the last: removals
    /// first, then new and changed rows from top to bottom, to be carried out in this order ([`RowChange::apply`]); nothing where
    /// nothing a row says changed.
    pub fn update(
        &mut self,
        tree: &TraceTree,
        requests: &[Arc<ApprovalRequest>],
    ) -> Vec<RowChange> {
        let Some(changed) = self.changed(tree) else {
            return self.start_over(tree, requests);
        };
        let known = self.nodes.len();
        let asks = !same_requests(&self.requests, requests);
        let moves = changed
            .iter()
            .any(|(index, node)| approvals::moves(&self.nodes[*index], node));
        let mut stale = BTreeMap::new();
        for (index, node) in changed {
            self.replace(index, node, &mut stale);
        }
        for (_, node) in tree.iter().skip(known) {
            self.push(node.clone(), &mut stale);
        }
        // Rows stand where they stood until their places are found anew; new nodes have none yet.
        stale.split_off(&known);
        let changed = self.rewrite(stale);
        let must_arrange = asks || moves && !requests.is_empty();
        if must_arrange || !self.append(known) {
            self.requests = requests.to_vec();
            self.arrange(known, &changed)
        } else {
            self.upserts(changed.into_iter().chain(known..self.nodes.len()))
        }
    }

    /// The nodes that are not the very same as in the last snapshot; `None` where this is no later snapshot of the same run.
    fn changed(&self, tree: &TraceTree) -> Option<Vec<(usize, Arc<TraceNode>)>> {
        if tree.len() < self.nodes.len() {
            return None;
        }
        let mut changed = Vec::new();
        for (index, (before, (_, node))) in self.nodes.iter().zip(tree.iter()).enumerate() {
            if Arc::ptr_eq(before, node) {
                continue;
            }
            let same = before.parent() == node.parent()
                && before.kind == node.kind
                && before.id == node.id;
            if !same {
                return None;
            }
            changed.push((index, node.clone()));
        }
        Some(changed)
    }

    fn start_over(
        &mut self,
        tree: &TraceTree,
        requests: &[Arc<ApprovalRequest>],
    ) -> Vec<RowChange> {
        let before = std::mem::take(&mut self.rows);
        *self = Self::new(std::mem::take(&mut self.options));
        self.update(tree, requests);
        diff(&before, &self.rows)
    }

    fn replace(&mut self, index: usize, node: Arc<TraceNode>, stale: &mut Stale) {
        let more = failures(&node) - failures(&self.nodes[index]);
        let before = std::mem::replace(&mut self.nodes[index], node);
        stale.insert(index, before);
        self.count_failed(index, more, stale);
    }

    fn push(&mut self, node: Arc<TraceNode>, stale: &mut Stale) {
        let index = self.nodes.len();
        let id = self.names.of(index, &node, &self.options.redactor);
        self.layout.push(&node);
        self.ids.push(id);
        self.failed.push(0);
        let more = failures(&node);
        self.nodes.push(node);
        self.count_failed(index, more, stale);
    }

    /// So many more of its parent's children failed, which a catch tells of.
    fn count_failed(&mut self, index: usize, more: i32, stale: &mut Stale) {
        let Some(parent) = self.layout.parent(index).filter(|_| more != 0) else {
            return;
        };
        self.failed[parent] = self.failed[parent].saturating_add_signed(more);
        let around = &self.nodes[parent];
        if around.kind == TraceKind::Catch {
            stale.entry(parent).or_insert_with(|| around.clone());
        }
    }

    /// Writes rows again, in their places. Gives the nodes whose rows became others.
    fn rewrite(&mut self, stale: Stale) -> Vec<usize> {
        let mut changed = Vec::new();
        for (index, before) in stale {
            let (Some(at), Some(source)) = (self.row_at(index), self.source(index)) else {
                continue;
            };
            let row = Writer::new(&self.options).again(&source, &before, &self.rows[at]);
            if row != *self.rows[at] {
                self.rows[at] = Arc::new(row);
                changed.push(index);
            }
        }
        changed
    }

    /// Where the row of a node stands, among those of requests too.
    fn row_at(&self, index: usize) -> Option<usize> {
        let row = self.layout.row(index)?;
        let asked = self.asked.partition_point(|asked| asked.rows_before <= row);
        Some(row + asked)
    }

    fn source(&self, index: usize) -> Option<Source<'_>> {
        let node = &self.nodes[index];
        let failed = self.failed[index];
        row_kind(node).map(|kind| Source { node, kind, failed })
    }

    /// The changes where none of the rows that were there has another place.
    fn upserts(&self, changed: impl Iterator<Item = usize>) -> Vec<RowChange> {
        let mut places: Vec<_> = changed.filter_map(|index| self.row_at(index)).collect();
        places.sort_unstable();
        let upsert = |at: usize| RowChange::Upsert {
            row: self.rows[at].clone(),
            after: at.checked_sub(1).map(|before| self.rows[before].id.clone()),
        };
        places.into_iter().map(upsert).collect()
    }

    /// Gives the nodes that are new their rows, where these come behind all others; rows of requests may have to stand behind them.
    fn append(&mut self, known: usize) -> bool {
        let new = known..self.nodes.len();
        let is_end = new.is_empty() || self.asked.is_empty() && self.layout.append(known);
        if is_end {
            for index in new {
                let row = self.new_row(index);
                self.rows.extend(row);
            }
        }
        is_end
    }

    /// Finds the places of all rows anew. Rows of nodes keep their order, whatever comes between them: a tree only grows.
    fn arrange(&mut self, known: usize, changed: &[usize]) -> Vec<RowChange> {
        let (mut of_nodes, of_requests) = self.take_rows();
        let mut is_new = vec![false; known];
        is_new.resize(self.nodes.len(), true);
        for index in changed {
            is_new[*index] = true;
        }
        self.layout.settle();
        let nodes = self.nodes.iter().map(|node| &**node);
        let placed = approvals::place(&self.requests, &self.layout, nodes);
        let (asked, removed) = self.ask(&placed, of_requests);
        self.asked = placed;

        let mut list = Listed {
            rows: Vec::with_capacity(self.layout.order().len() + asked.len()),
            changes: removed,
        };
        let mut asked = self.asked.iter().zip(asked).peekable();
        for (at, index) in self.layout.order().enumerate() {
            while let Some((_, (row, is_new))) =
                asked.next_if(|(placed, _)| placed.rows_before <= at)
            {
                list.push(row, is_new);
            }
            let row = if index < known {
                of_nodes.next()
            } else {
                self.new_row(index)
            };
            if let Some(row) = row {
                list.push(row, is_new[index]);
            }
        }
        for (_, (row, is_new)) in asked {
            list.push(row, is_new);
        }
        self.rows = list.rows;
        list.changes
    }

    /// The rows there are: those of nodes, and those of requests.
    fn take_rows(&mut self) -> (vec::IntoIter<Arc<TraceRow>>, Vec<Arc<TraceRow>>) {
        let rows = std::mem::take(&mut self.rows);
        if self.asked.is_empty() {
            return (rows.into_iter(), Vec::new());
        }
        let (mut of_nodes, mut of_requests) = (Vec::with_capacity(rows.len()), Vec::new());
        for row in rows {
            let next = self.asked.get(of_requests.len());
            if next.is_some_and(|asked| asked.rows_before == of_nodes.len()) {
                of_requests.push(row);
            } else {
                of_nodes.push(row);
            }
        }
        (of_nodes.into_iter(), of_requests)
    }

    /// The rows of requests, each with whether it is new; and the removal of those that are gone or stood elsewhere.
    fn ask(
        &self,
        placed: &[Placed],
        rows: Vec<Arc<TraceRow>>,
    ) -> (Vec<(Arc<TraceRow>, bool)>, Vec<RowChange>) {
        let were: HashMap<_, _> = self
            .asked
            .iter()
            .enumerate()
            .map(|(place, asked)| ((&asked.request.id, asked.node), place))
            .collect();
        let was_at: Vec<_> = placed
            .iter()
            .map(|asked| were.get(&(&asked.request.id, asked.node)).copied())
            .collect();
        let mut stays = vec![None; placed.len()];
        let mut kept = vec![false; rows.len()];
        for place in in_order(&was_at) {
            if let Some(at) = was_at[place] {
                stays[place] = Some(at);
                kept[at] = true;
            }
        }
        let writer = Writer::new(&self.options);
        let row = |(asked, stays): (&Placed, &Option<usize>)| {
            let before = stays.map(|at| (&self.asked[at].request, &rows[at]));
            if let Some((request, row)) = before
                && Arc::ptr_eq(request, &asked.request)
            {
                return (row.clone(), false);
            }
            let site = site_of(asked, &self.layout, &self.ids);
            let row = writer.approval(&asked.request, site);
            match before {
                Some((_, before)) if **before == row => (before.clone(), false),
                Some(_) | None => (Arc::new(row), true),
            }
        };
        let asked = placed.iter().zip(&stays).map(row).collect();
        let gone = rows.iter().zip(kept).filter(|(_, kept)| !kept);
        let remove = |row: &Arc<TraceRow>| RowChange::Remove { id: row.id.clone() };
        (asked, gone.map(|(row, _)| remove(row)).collect())
    }

    fn new_row(&self, index: usize) -> Option<Arc<TraceRow>> {
        let source = self.source(index)?;
        let site = Site {
            parent: self
                .layout
                .owner(index)
                .map(|owner| self.ids[owner].clone()),
            depth: self.layout.depth(index),
        };
        let row = Writer::new(&self.options).node(&source, self.ids[index].clone(), site);
        Some(Arc::new(row))
    }
}

/// The nodes whose rows may no longer be right, as they were when these were written.
type Stale = BTreeMap<usize, Arc<TraceNode>>;

fn failures(node: &TraceNode) -> i32 {
    i32::from(node.status == TraceStatus::Failed)
}

/// Rows from top to bottom, and what is new of them.
struct Listed {
    rows: Vec<Arc<TraceRow>>,
    changes: Vec<RowChange>,
}

impl Listed {
    fn push(&mut self, row: Arc<TraceRow>, is_new: bool) {
        if is_new {
            self.changes.push(RowChange::Upsert {
                row: row.clone(),
                after: self.rows.last().map(|last| last.id.clone()),
            });
        }
        self.rows.push(row);
    }
}

/// Requests come as they were shared; one that is equal to another is looked at again.
fn same_requests(one: &[Arc<ApprovalRequest>], two: &[Arc<ApprovalRequest>]) -> bool {
    one.len() == two.len() && one.iter().zip(two).all(|(one, two)| Arc::ptr_eq(one, two))
}
