//! Helpers of the tests: admission requests and rule pages, hubs and clusters, manifests, waiting.

pub(crate) mod agent;
pub(crate) mod alone;
pub(crate) mod approvals;
pub(crate) mod asked;
pub(crate) mod audited;
pub(crate) mod clock;
pub(crate) mod drawn_settings;
pub(crate) mod each;
pub(crate) mod faulty;
pub(crate) mod hubs;
pub(crate) mod manifests;
pub(crate) mod neighbour;
pub(crate) mod pages;
pub(crate) mod policies;
pub(crate) mod programs;
pub(crate) mod search;
pub(crate) mod settings;
pub(crate) mod status_table;
pub(crate) mod stock;
pub(crate) mod stock_on_hub;
pub(crate) mod waiting;
pub(crate) mod world;
