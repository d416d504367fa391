//! Simulated clusters for a hub, over the ordinary API only.
