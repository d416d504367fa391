//! The program as users run it: the real binary, the real `kubectl`, real TLS.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a test reads files and clocks, and may panic"
)]

mod added_fields;
mod addresses;
mod admission;
mod audit;
mod authoring;
mod break_glass;
mod cert_manager;
mod certificates;
mod chaos;
mod chaos_clock;
mod chaos_scene;
mod ci_files;
mod cockpit;
mod command_line;
mod completion;
mod corpus;
mod deep;
mod definitions;
mod deploy;
mod doctor;
mod dumps;
#[path = "../kit/each.rs"]
mod each;
mod ending;
mod enforcement;
mod faults;
mod files;
mod first_hour;
mod fleetbench;
mod gitops;
mod guides;
mod hook;
mod hostile;
mod installed;
mod kill;
#[path = "../kit/kubectl.rs"]
mod kubectl;
mod logs;
mod lossy;
mod main_job;
mod memory;
mod modes;
mod namespaces;
mod no_kubectl;
mod output_documents;
mod overtaken;
mod pods;
mod previews;
#[path = "../kit/programs.rs"]
mod programs;
mod reads;
mod real_addons;
mod replicas;
mod rest;

mod rig;
mod roads;
mod robust;
mod rolling;
mod rollouts;
#[path = "../kit/search.rs"]
mod search;
mod seeds;
mod serve;
mod server_side;
mod settings;
mod stories;
mod terminal;
mod tools;
mod traces;
mod upgraded;
mod upgrades;
mod user_roles;
mod v1beta1;
mod versions;
mod waiting_for_ocm;
mod web;
mod web_tls;
