//! What Amazon's own files say of a profile besides its credentials.

use std::collections::HashMap;

/// The usual profile.
pub(crate) const DEFAULT: &str = "default";

/// The settings of a profile in the text of `~/.aws/config`. Sections that are nested in a setting are left out.
pub(crate) fn settings(text: &str, profile: &str) -> HashMap<String, String> {
    let (mut found, mut is_here) = (HashMap::new(), false);
    for line in text.lines() {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line.trim().strip_prefix('[') {
            let name = section.split(']').next().unwrap_or_default().trim();
            let name = name.strip_prefix("profile ").map_or(name, str::trim);
            is_here = name == profile;
        } else if is_here
            && !line.starts_with([' ', '\t'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_has_its_own_settings() {
        let text = "[default]\nregion = eu-west-1\n# region = x\ns3 =\n  region = nested\n\
            [profile other]\nregion=us-east-2\n[sso-session other]\nsso_region = z\n";
        let region = |profile| settings(text, profile).get("region").cloned();
        assert_eq!(region(DEFAULT).as_deref(), Some("eu-west-1"));
        assert_eq!(region("other").as_deref(), Some("us-east-2"));
        assert_eq!(region("third"), None);
    }
}
