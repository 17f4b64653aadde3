//! Actors that consist only of their answers.

use std::marker::PhantomData;

use ractor::{Actor, ActorProcessingErr, ActorRef, Message};

/// Handles one message after the other.
struct Answering<M, A>(A, PhantomData<fn(M)>);

impl<M, A, F> Actor for Answering<M, A>
where
    M: Message,
    A: Fn(M) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    type Msg = M;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<M>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(&self, _: ActorRef<M>, message: M, (): &mut ()) -> Result<(), ActorProcessingErr> {
        (self.0)(message).await;
        Ok(())
    }
}

/// Spawns an actor that calls `answer` with each message.
pub async fn answering<M, A, F>(answer: A) -> ActorRef<M>
where
    M: Message,
    A: Fn(M) -> F + Send + Sync + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    Actor::spawn(None, Answering(answer, PhantomData), ()).await.unwrap().0
}

/// Does the same for an answer that needs no waiting.
pub async fn answering_at_once<M: Message>(answer: impl Fn(M) + Send + Sync + 'static) -> ActorRef<M> {
    let done = move |message| {
        answer(message);
        std::future::ready(())
    };
    answering(done).await
}
