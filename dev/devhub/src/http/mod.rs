//! Sockets, requests and answers.
//!
//! Decides what a request asks for and in which form the answer is written.

mod body;
mod json;
mod negotiate;
mod path;
mod query;
mod reply;
mod server;
mod service;
mod yaml;

pub(crate) use body::{Body, Payload, read_payload};
pub(crate) use json::{Decoded, decode_json};
pub(crate) use negotiate::{Accepted, Encoding, Form, Menu, negotiate, refusal};
pub(crate) use path::{Route, Target, parse_path};
pub(crate) use query::{Query, unescaped};
pub(crate) use reply::Reply;
pub(crate) use server::{Server, tls_config};
pub(crate) use service::{InProcess, answer};
pub(crate) use yaml::{decode_yaml, encode_yaml};
