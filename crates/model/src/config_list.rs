//! Annotations that list types of configurations: those that no cluster may override, those that are merged.
//!
//! Decides how the list is read: `<resource>.<group>`, separated by commas. Never decides what it means to be listed.

use super::config::ConfigType;
use field::Fault;

/// Returns every entry of the list, with the type that it is or what is wrong with it.
pub fn listed_config_types(text: &str) -> impl Iterator<Item = (&str, Result<ConfigType, Fault>)> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    entries.map(|entry| {
        let (resource, group) = entry.split_once('.').unwrap_or((entry, ""));
        (entry, ConfigType::parse(group, resource))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_separated_by_commas_and_kinds_are_no_types() {
        let read = listed_config_types(" addonhubconfigs.g.io ,, configmaps, AddOnTemplate.g.io");
        let told: Vec<String> = read
            .map(|(entry, of)| of.map_or_else(|_| format!("{entry} is no type"), |of| of.to_string()))
            .collect();
        assert_eq!(
            told,
            [
                "addonhubconfigs.g.io",
                "configmaps",
                "AddOnTemplate.g.io is no type"
            ]
        );
    }
}
