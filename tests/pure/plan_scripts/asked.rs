//! The command `why [cluster]` of a plan script: the output of `tidegate why` at this moment, and its exit status.

use std::fmt::Write as _;

use insight::offline::Hub;
use insight::why::{text, why as ask};
use kubernetes::field::Listing;
use store::Kind;

use super::Teller;

pub(crate) fn why(teller: &mut Teller, clusters: &[&str]) {
    let mut hub = Hub::default();
    for (key, object) in &teller.world.objects {
        let mut object = object.clone();
        object["apiVersion"] = key.kind.api_version().into();
        object["kind"] = key.kind.address().kind.into();
        assert!(hub.put(object).is_some(), "{key}");
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    let cluster = clusters.first().copied();
    let view = teller.world.store.view(&teller.addon);
    let settings = view.map(|view| view.settings().clone()).unwrap_or_default();
    let told = match ask(&hub, settings, &teller.addon, cluster, teller.world.now) {
        Ok(answer) => {
            let exit = u8::from(!answer.is_well());
            format!(
                "{}exit {exit}\n",
                text(&answer, cluster.is_some(), Listing::Short)
            )
        }
        Err(error) => format!("{error}\nexit 2\n"),
    };
    for line in told.lines() {
        let line = format!("  {line}");
        writeln!(teller.out, "{}", line.trim_end()).expect("a string takes text");
    }
}
