//! Schemas, against recorded answers of an API server and of Kubernetes' own code, and against the `jsonschema` crate.

mod agreement;
mod expressions;
mod recorded;
mod upstream;
mod values;
