//! What Amazon's own files say of a profile.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use elect_remote::Url;
use reqsign_aws_v4::Credential;
use reqsign_core::Context;

use crate::Refused;

/// The usual profile.
pub(crate) const DEFAULT: &str = "default";
/// The settings that are keys in a file.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
/// The files with profiles, by the variable of each and its usual place.
const FILES: [(&str, &str); 2] =
    [("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"), ("AWS_CONFIG_FILE", "~/.aws/config")];

/// The profile whose keys count, as far as the URL names it.
#[derive(Debug)]
pub(crate) struct Profile {
    name: Option<String>,
    /// The only file that counts.
    file: Option<String>,
}

impl Profile {
    pub(crate) fn of(url: &Url) -> Self {
        let option = |name| url.option(name).map(str::to_owned);
        Self { name: option("profile"), file: option("credentials-file") }
    }

    /// The keys of the profile; `None` if it has none, and others may count.
    ///
    /// # Errors
    /// A file cannot be read, no file has the profile that is named, or it has half a pair of keys. Credentials from
    /// elsewhere may have other rights.
    pub(crate) async fn keys(&self, context: &Context) -> Result<Option<Credential>, Refused> {
        let named = self.name.clone().or_else(|| context.env_var("AWS_PROFILE"));
        let name = named.as_deref().unwrap_or(DEFAULT);
        let files = self.files(context);
        let mut is_known = false;
        for file in &files {
            let Some(text) = read(file, self.file.is_some()).await? else { continue };
            let Some(settings) = settings(&text, name) else { continue };
            let place = format!("the profile {name} in {file}");
            let found = keys(&place, KEYS, |key| settings.get(key).cloned())?;
            if found.is_some() {
                return Ok(found);
            }
            is_known = true;
        }
        if let Some(file) = &self.file {
            return Err(Refused::Credentials(format!(
                "{file} has no keys for the profile {name}: write aws_access_key_id and aws_secret_access_key below \
                 [{name}]"
            )));
        }
        if is_known || named.is_none() {
            return Ok(None);
        }
        let files = if files.is_empty() { "~/.aws".to_owned() } else { files.join(" or ") };
        Err(Refused::Credentials(format!(
            "there is no profile {name} in {files}: correct AWS_PROFILE, or the option profile"
        )))
    }

    /// The paths of the files that may be there.
    fn files(&self, context: &Context) -> Vec<String> {
        if let Some(file) = &self.file {
            return vec![file.clone()];
        }
        let path = |(variable, usual): &(&str, &str)| match context.env_var(variable) {
            Some(path) => context.expand_home_dir(&path),
            // A user may not look into a home that is another one's.
            None => context.expand_home_dir(usual).filter(|path| Path::new(path).exists()),
        };
        FILES.iter().filter_map(path).collect()
    }
}

/// The text of a file; `None` if it is not there, unless it `is_required`.
async fn read(path: &str, is_required: bool) -> Result<Option<String>, Refused> {
    let file = path.to_owned();
    let read = tokio::task::spawn_blocking(move || elect_system::path::read(Path::new(&file)));
    match read.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(text) => Ok(Some(String::from_utf8_lossy(&text).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_required => Ok(None),
        Err(error) => Err(Refused::Credentials(format!(
            "cannot read {path} ({error}): let elect read it, or name another file"
        ))),
    }
}

/// The credentials that three settings are: a key, its secret, and a session. `None` if all are missing.
///
/// # Errors
/// One of the pair is missing. `place` says where.
pub(crate) fn keys(
    place: &str,
    [id, secret, session]: [&str; 3],
    value: impl Fn(&str) -> Option<String>,
) -> Result<Option<Credential>, Refused> {
    let value = |name| value(name).filter(|value| !value.is_empty());
    let half = |has: &str, lacks: &str| {
        Err(Refused::Credentials(format!(
            "{place} has {has} but no {lacks}: add it, or remove both"
        )))
    };
    match (value(id), value(secret)) {
        (Some(access_key_id), Some(secret_access_key)) => Ok(Some(Credential {
            access_key_id,
            secret_access_key,
            session_token: value(session),
            expires_in: None,
        })),
        (Some(_), None) => half(id, secret),
        (None, Some(_)) => half(secret, id),
        (None, None) => Ok(None),
    }
}

/// The settings of a profile in the text of such a file; `None` if it is not there. Sections that are nested in a
/// setting are left out.
pub(crate) fn settings(text: &str, profile: &str) -> Option<HashMap<String, String>> {
    let (mut found, mut is_here) = (None::<HashMap<_, _>>, false);
    for line in text.lines() {
        if line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(section) = line.trim().strip_prefix('[') {
            let name = section.split(']').next().unwrap_or_default().trim();
            let name = name.strip_prefix("profile ").map_or(name, str::trim);
            is_here = name == profile;
            if is_here {
                found.get_or_insert_default();
            }
        } else if is_here
            && !line.starts_with([' ', '\t'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.get_or_insert_default().insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use reqsign_core::StaticEnv;
    use tempfile::TempDir;

    use super::*;
    use crate::OPTIONS;
    use crate::sources::Sources;

    #[test]
    fn a_profile_has_its_own_settings() {
        let text = "[default]\nregion = eu-west-1\n# region = x\ns3 =\n  region = nested\n\
            [profile other]\nregion=us-east-2\n[sso-session other]\nsso_region = z\n[empty]\n";
        let region = |profile| settings(text, profile).map(|it| it.get("region").cloned());
        assert_eq!(region(DEFAULT), Some(Some("eu-west-1".to_owned())));
        assert_eq!(region("other"), Some(Some("us-east-2".to_owned())));
        assert_eq!(region("empty"), Some(None));
        assert_eq!(region("third"), None);
    }

    /// The id of the key that is found with these options and variables, or why there is none. The service of a container
    /// is set up as well, and does not answer.
    async fn found(options: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let url = Url::parse(&format!("s3://jobs?{options}"), 0, OPTIONS).expect("a good URL");
        let container = ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/");
        let all = variables.iter().chain([&container]);
        let envs = all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let context = crate::fetch::context().with_env(StaticEnv { home_dir: None, envs });
        let found = Sources::of("eu-west-1", &url).find(&context).await;
        found.map(|found| found.access_key_id).map_err(|refused| match refused {
            Refused::Credentials(why) => why,
            Refused::NoAnswer(why) => format!("the container: {why}"),
        })
    }

    /// Another source may have other rights, perhaps those of the machine.
    #[tokio::test]
    async fn what_is_half_set_up_is_refused_and_not_passed_over() {
        let folder = TempDir::new().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let keys = "aws_access_key_id = AKIA\naws_secret_access_key = any\n";
        let whole = &*file("whole", &format!("[default]\n{keys}[other]\n{keys}[empty]\n"));
        let half =
            &*file("half", "[default]\naws_access_key_id = AKIA\n[b]\naws_secret_access_key = x\n");
        let missing = &*folder.path().join("missing").display().to_string();
        let folder = &*folder.path().display().to_string();
        let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
        let (shared, config) = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE");
        let of = |file: &str| format!("credentials-file={file}");
        for (options, variables, expected) in [
            ("", &[][..], Err("the container: ")),
            ("", &[(shared, missing)], Err("the container: ")),
            ("", &[("AWS_PROFILE", "empty"), (shared, whole)], Err("the container: ")),
            ("", &[(shared, whole)], Ok("AKIA")),
            ("", &[(config, whole), ("AWS_PROFILE", "other")], Ok("AKIA")),
            ("", &[(id, "A"), (secret, "any"), ("AWS_PROFILE", "none")], Ok("A")),
            (&of(whole), &[("AWS_PROFILE", "other")], Ok("AKIA")),
            (
                "",
                &[(id, "A"), (shared, whole)],
                Err("has AWS_ACCESS_KEY_ID but no AWS_SECRET_ACCESS_KEY"),
            ),
            ("", &[(secret, "x"), (shared, whole)], Err("but no AWS_ACCESS_KEY_ID")),
            ("", &[(shared, half), (config, whole)], Err("but no aws_secret_access_key")),
            ("profile=b", &[(config, half)], Err("but no aws_access_key_id")),
            ("", &[(shared, folder)], Err("cannot read ")),
            ("", &[("AWS_PROFILE", "none"), (shared, whole)], Err("there is no profile none in ")),
            ("profile=none", &[], Err("there is no profile none in ~/.aws: ")),
            ("profile=none", &[(config, whole)], Err("correct AWS_PROFILE, or the option profile")),
            (&of(missing), &[], Err("cannot read ")),
            (&of(whole), &[("AWS_PROFILE", "none")], Err("has no keys for the profile none")),
            (&of(whole), &[("AWS_PROFILE", "empty")], Err("has no keys for the profile empty")),
        ] {
            match (found(options, variables).await, expected) {
                (Ok(found), Ok(expected)) => {
                    assert_eq!(found, expected, "{options}, {variables:?}");
                }
                (Err(why), Err(expected)) => {
                    assert!(why.contains(expected), "{options}, {variables:?}: {why}");
                    assert!(!why.contains("any"), "{why}");
                }
                (found, _) => panic!("{options}, {variables:?}: {found:?}"),
            }
        }
    }
}
