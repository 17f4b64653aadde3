//! Behaviour through the public doors; one file per behaviour.

mod storage;
