//! Serves a hub until interrupted, with the definitions of the given YAML files.
//!
//! `cargo run -p devhub --example serve -- <kubeconfig to write> [definition.yaml…]`

#![expect(clippy::print_stdout, reason = "an example talks to its user")]

use std::path::Path;

use devhub::DevHub;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("where shall the kubeconfig be written?")?;
    let mut builder = DevHub::builder();
    for file in arguments {
        builder = builder.crd(serde_saphyr::from_str(&std::fs::read_to_string(file)?)?);
    }
    let hub = builder.start().await?;
    hub.write_kubeconfig(Path::new(&path))?;
    println!("{} serves; kubeconfig is {path}", hub.url());
    tokio::signal::ctrl_c().await?;
    hub.shutdown().await;
    Ok(())
}
