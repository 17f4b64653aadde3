//! The dialer with real calls.
