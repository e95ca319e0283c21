//! The calls that reach a scripted double, in order, until the test asks for them.

use std::collections::VecDeque;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The test's side: calls that came, and those that were passed over for a later one.
#[derive(Debug)]
pub(crate) struct Calls<C> {
    incoming: UnboundedReceiver<C>,
    passed_over: VecDeque<C>,
}

impl<C> Calls<C> {
    pub(crate) fn new() -> (UnboundedSender<C>, Self) {
        let (sender, incoming) = unbounded_channel();
        let calls = Self {
            incoming,
            passed_over: VecDeque::new(),
        };
        (sender, calls)
    }

    /// Waits for the first call that is wanted; `None` once none can come. Cancel-safe: the others keep their order.
    pub(crate) async fn next(&mut self, wanted: impl Fn(&C) -> bool) -> Option<C> {
        if let Some(call) = self.take_passed_over(&wanted) {
            return Some(call);
        }
        loop {
            let call = self.incoming.recv().await?;
            if wanted(&call) {
                return Some(call);
            }
            self.passed_over.push_back(call);
        }
    }

    /// The oldest call, where one has come.
    pub(crate) fn try_next(&mut self) -> Option<C> {
        self.passed_over
            .pop_front()
            .or_else(|| self.incoming.try_recv().ok())
    }

    /// The calls that came and were not wanted, in order.
    pub(crate) fn passed_over(&self) -> impl Iterator<Item = &C> {
        self.passed_over.iter()
    }

    fn take_passed_over(&mut self, wanted: impl Fn(&C) -> bool) -> Option<C> {
        let place = self.passed_over.iter().position(wanted)?;
        self.passed_over.remove(place)
    }
}
