//! The picture of a rollout in plan scripts: `show rollout`, and a check after every command that it matches the plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insight::cockpit::{ClusterState, Stopwatch, addon, status};
use plan::PlacementOutlook;

use super::Teller;

/// How wide the page is in stories.
const WIDTH: usize = 110;

impl Teller {
    pub(super) fn show_rollout(&mut self) {
        let picture = addon(
            &self.world.store,
            &self.addon,
            &Stopwatch::default(),
            self.world.now,
        );
        let picture = picture.expect("an add-on");
        for line in status(&picture, WIDTH, self.world.now) {
            assert!(line.width() <= WIDTH, "{}", line.text());
            writeln!(self.out, "  {}", line.text().trim_end()).expect("a string takes text");
        }
    }

    /// Every cluster is pictured once, and as many wait or have failed as by the plan's own count.
    pub(super) fn picture_agrees(&self) {
        let (store, now) = (&self.world.store, self.world.now);
        let Some(view) = store.view(&self.addon) else {
            return;
        };
        let (plan, outlook) = plan::addon_with_outlook(&view, now);
        assert_eq!(plan, plan::addon(&view, now), "observing changes nothing");
        let Some((outlook, picture)) = outlook.zip(addon(store, &self.addon, &Stopwatch::default(), now))
        else {
            return;
        };
        let total = outlook.clusters.len() + outlook.missing.len();
        assert_eq!((picture.clusters.len(), picture.counts.total), (total, total));
        assert_eq!(
            picture.waves.iter().map(|wave| wave.counts.total).sum::<usize>(),
            total
        );
        let count = |place: &str, state: ClusterState| {
            let own = picture.clusters.iter().filter(|cluster| {
                let wave = picture.waves.get(cluster.wave).expect("a wave");
                wave.placement == place && cluster.state == state
            });
            own.count()
        };
        // An entry that stands twice in the strategy is one place.
        let mut places: BTreeMap<String, [usize; 3]> = BTreeMap::new();
        for PlacementOutlook {
            namespace,
            name,
            counts,
            ..
        } in &outlook.placements
        {
            let of = places.entry(format!("{namespace}/{name}")).or_default();
            for (sum, more) in of
                .iter_mut()
                .zip([counts.failed, counts.timed_out, counts.waiting])
            {
                *sum += more;
            }
        }
        for (place, planned) in places {
            let states = [
                ClusterState::Failed,
                ClusterState::TimedOut,
                ClusterState::Waiting,
            ];
            let shown = states.map(|state| count(&place, state));
            assert_eq!(shown, planned, "{place}: {}", picture.message);
        }
    }
}
