//! Expressions: the CEL specification, what an admission policy sees, and hostile ones.

mod activation;
mod conformance;
mod hostile;
