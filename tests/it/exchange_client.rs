//! What the simulated carrier's client makes of an exchange that is away, refuses, stalls or breaks off.
