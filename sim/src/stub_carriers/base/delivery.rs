//! Delivery of one call's callbacks: in order, twice, or all of them at the end and the last one first.

use tokio::sync::mpsc;

/// Most callbacks that may wait; a call has four.
pub const WAITING: usize = 16;

/// Order and repetition of callbacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callbacks {
    /// Each when it happens.
    InOrder,
    /// Each when it happens, and once more.
    Twice,
    /// When the call is over, the last one first.
    Reversed,
}

/// Callbacks to deliver, in the order of their delivery.
pub struct Delivery<T> {
    order: Callbacks,
    waiting: mpsc::Receiver<T>,
    held: Vec<T>,
}

impl<T: Clone> Delivery<T> {
    pub fn new(order: Callbacks, waiting: mpsc::Receiver<T>) -> Self {
        Self {
            order,
            waiting,
            held: Vec::new(),
        }
    }

    /// Returns the next callback, or `None` after the last one.
    pub async fn next(&mut self) -> Option<T> {
        match self.order {
            Callbacks::InOrder => self.waiting.recv().await,
            Callbacks::Twice => {
                if let Some(again) = self.held.pop() {
                    return Some(again);
                }
                let next = self.waiting.recv().await?;
                self.held.push(next.clone());
                Some(next)
            }
            Callbacks::Reversed => {
                while let Some(next) = self.waiting.recv().await {
                    self.held.push(next);
                }
                self.held.pop()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn delivered(order: Callbacks) -> Vec<u8> {
        let (told, waiting) = mpsc::channel(WAITING);
        for n in 1..=3 {
            told.try_send(n).unwrap();
        }
        drop(told);
        let mut delivery = Delivery::new(order, waiting);
        let mut all = Vec::new();
        while let Some(next) = delivery.next().await {
            all.push(next);
        }
        all
    }

    #[tokio::test]
    async fn each_order_is_kept() {
        assert_eq!(delivered(Callbacks::InOrder).await, [1, 2, 3]);
        assert_eq!(delivered(Callbacks::Twice).await, [1, 1, 2, 2, 3, 3]);
        assert_eq!(delivered(Callbacks::Reversed).await, [3, 2, 1]);
    }
}
