//! Drives `chat-core` on tokio: a [`Chat`] holds [`Session`]s, a session answers [`Turn`]s one at a time.
//!
//! A turn is one user input, answered once. It streams live events while it runs, settles with a reply or an error, and leaves
//! a few entries in its session's journal. It goes on whether or not anyone watches; it can be canceled, steered and retried.
//!
//! ```
//! use chat_core::{MemoryStore, Reply};
//! use chat_runtime::{Chat, responder_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let echo = responder_fn(|request, out| async move {
//!     for word in request.input.split_inclusive(' ') {
//!         out.text(word);
//!     }
//!     Ok(Reply::streamed())
//! });
//! let session = Chat::new(echo, MemoryStore::default()).create_session().await?;
//!
//! let turn = session.send("What is a turn?");
//! let mut text = turn.text()?;
//! while let Some(piece) = text.next().await {
//!     print!("{piece}");
//! }
//! assert_eq!(&*turn.await?.text, "What is a turn?");
//! # Ok(())
//! # }
//! ```

mod answer;
mod chat;
mod driver;
mod environment;
mod events;
mod execution;
mod giving_way;
mod lazy;
mod outputs;
mod quietly;
mod responder_fn;
mod session;
mod shared;
mod turn;
mod turn_state;

pub use chat::{Chat, ChatBuilder, ChatError, NewSession};
pub use environment::{Environment, SystemEnvironment};
pub use events::{EventsTaken, TurnEvents, TurnText};
pub use lazy::{LazyEvents, LazyTurn};
pub use responder_fn::{Out, responder_fn};
pub use session::Session;
pub use turn::{Reason, Turn};
