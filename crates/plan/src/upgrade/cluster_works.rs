//! Which of the works on a cluster are which to an upgrade.
//!
//! Decides whose a work is and whether it is of this run and try. Never adopts what is not ours.

use model::Name;

use crate::upgrade::cluster_standing::Works;
use crate::upgrade::run_memory::Memory;
use store::upgrade::View;
use store::upgrade::marks::Stage;

/// Returns the works on a cluster.
pub(crate) fn works<'a>(view: &'a View<'_>, memory: &Memory, cluster: &Name) -> Works<'a> {
    let mut found = Works::default();
    let Some(all) = view.works.get(cluster) else {
        return found;
    };
    let mark = memory.mark(cluster);
    for stage in Stage::ALL {
        let name = stage.work(cluster, view.upgrade.name);
        let Some((name, work)) = all.get_key_value(&name) else {
            continue;
        };
        let is_action = matches!(stage, Stage::Pre | Stage::Post);
        if work.owner != view.upgrade.uid {
            if is_action {
                found.taken = Some((name, work));
            } else {
                found.foreign = Some((name, work));
            }
            continue;
        }
        if work.deleting || work.run != mark {
            found.left.push((stage, work));
            continue;
        }
        let place = match stage {
            Stage::Pre => &mut found.pre,
            Stage::Platform if memory.is_probe(cluster, work) => &mut found.probe,
            Stage::Platform => &mut found.platform,
            Stage::Operators => &mut found.operators,
            Stage::Post => &mut found.post,
        };
        *place = Some(work);
    }
    found
}
