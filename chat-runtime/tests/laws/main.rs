//! The laws of turns (T1 to T14), of their events and of responders (R1 to R3), at the handles a caller holds. Nothing here
//! sleeps: what must come is awaited, and that nothing comes is asked once nothing else can run (`kit::idle`).

#[cfg(test)]
mod kit;

#[cfg(test)]
mod blocking;
#[cfg(test)]
mod callers_code;
#[cfg(test)]
mod events;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod r_responder;
#[cfg(test)]
mod races;
#[cfg(test)]
mod stress;
#[cfg(test)]
mod t11_unwritten;
#[cfg(test)]
mod t14_shutdown;
#[cfg(test)]
mod t1_start;
#[cfg(test)]
mod t2_order;
#[cfg(test)]
mod t3_durable;
#[cfg(test)]
mod t4_failure;
#[cfg(test)]
mod t5_end;
#[cfg(test)]
mod t6_cancel;
#[cfg(test)]
mod t8_steer;
#[cfg(test)]
mod t9_retry;
