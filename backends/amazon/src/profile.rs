//! What Amazon's own files say of a profile.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind};
use elect_remote::{Settings, Url, unfit};
use reqsign_aws_v4::Credential;

use crate::Refused;

/// The usual profile.
pub(crate) const DEFAULT: &str = "default";
/// The settings that are keys in a file.
const KEYS: [&str; 3] = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
/// The files of Amazon's tools, by the variable of each and its usual place.
const CREDENTIALS: (&str, &str) = ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials");
const CONFIG: (&str, &str) = ("AWS_CONFIG_FILE", "~/.aws/config");
/// The name that people give to a variable so that no file counts.
const NO_FILE: &str = "/dev/null";

/// The profile that counts, and the files that may have it.
#[derive(Clone, Debug)]
pub(crate) struct Profile {
    name: String,
    /// Whether the URL or a variable names it.
    is_named: bool,
    files: Vec<File>,
}

/// A file with profiles.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) path: PathBuf,
    kind: Kind,
}

/// What a file is for. It decides who may have written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The only file with keys, which the URL names. It must be there.
    Only,
    /// Keys of Amazon's tools.
    Credentials,
    /// Settings of Amazon's tools. They can name a program, and another endpoint.
    Config,
}

/// What the files say of a profile.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) keys: Option<Credential>,
    /// The file with the keys.
    pub(crate) file: Option<PathBuf>,
    /// The settings in both files. Those of the credentials count first.
    pub(crate) config: HashMap<String, String>,
}

impl Profile {
    /// The profile that the URL means, with these variables and this home.
    pub(crate) fn of(
        url: &Url,
        variable: impl Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Self {
        let named = url.option("profile").map(str::to_owned).or_else(|| variable("AWS_PROFILE"));
        let file = |kind, (name, usual): (&str, &str)| {
            let path = match variable(name) {
                Some(path) => expanded(&path, home)?,
                // A user may not look into a home that is another one's.
                None => expanded(usual, home).filter(|path| path.exists())?,
            };
            Some(File { path, kind })
        };
        let files = match url.option("credentials-file") {
            Some(path) => vec![File { path: path.into(), kind: Kind::Only }],
            None => [(Kind::Credentials, CREDENTIALS), (Kind::Config, CONFIG)]
                .into_iter()
                .filter_map(|(kind, place)| file(kind, place))
                .collect(),
        };
        // The usual one may be missing, also where a variable names it: credentials may come from elsewhere.
        let is_named = named.as_ref().is_some_and(|name| name != DEFAULT);
        Self { name: named.unwrap_or_else(|| DEFAULT.to_owned()), is_named, files }
    }

    /// The profile and its files, for messages.
    pub(crate) fn in_words(&self) -> String {
        let paths: Vec<_> = self.files.iter().map(|file| file.path.display().to_string()).collect();
        let files = if paths.is_empty() { "~/.aws".to_owned() } else { paths.join(" or ") };
        format!("the profile {} in {files}", self.name)
    }

    /// Reads the files up to the first one that has keys. Blocks.
    ///
    /// # Errors
    /// A file cannot be read or understood, no file has the profile that is named, or it has half a pair of keys.
    /// Credentials from elsewhere may have other rights.
    pub(crate) fn find(&self) -> Result<Found, Error> {
        let Self { name, is_named, files } = self;
        let (mut found, mut is_known) = (Found::default(), false);
        for file in files {
            let Some(text) = file.read()? else { continue };
            let Some(settings) = settings(&text, name).map_err(|why| file.wrong(&why))? else {
                continue;
            };
            is_known = true;
            let place = format!("the profile {name} in {}", file.path.display());
            found.keys = keys(&place, KEYS, |key| settings.get(key).cloned())?;
            for (key, value) in settings {
                found.config.entry(key).or_insert(value);
            }
            if found.keys.is_some() {
                found.file = Some(file.path.clone());
                return Ok(found);
            }
        }
        if let [File { path, kind: Kind::Only }] = &files[..] {
            return Err(denied(format!(
                "{} has no keys for the profile {name}: write aws_access_key_id and aws_secret_access_key below \
                 [{name}]",
                path.display()
            )));
        }
        if is_known || !is_named {
            return Ok(found);
        }
        Err(denied(format!(
            "there is no {}: correct AWS_PROFILE, or the option profile",
            self.in_words().trim_start_matches("the ")
        )))
    }
}

/// Adds what the configuration that counts says of a profile, if there is such a file.
///
/// # Errors
/// The file cannot be read or understood, or a variable names one that is not there.
pub(crate) fn configure(
    settings: &mut Settings<'_>,
    name: &str,
    home: Option<&Path>,
) -> Result<(), Error> {
    let named = settings.variable(CONFIG.0);
    let path = expanded(named.as_deref().unwrap_or(CONFIG.1), home);
    let Some(path) = path.filter(|path| named.is_some() || path.exists()) else { return Ok(()) };
    let file = File { path, kind: Kind::Config };
    let Some(text) = file.read()? else {
        let path = file.path.display();
        return Err(unfit(format!("{} names {path}, and no such file exists", CONFIG.0)));
    };
    let found = self::settings(&text, name).map_err(|why| file.wrong(&why))?;
    settings.add(file.path, found.unwrap_or_default());
    Ok(())
}

impl File {
    /// The text of the file; `None` if it is not there, unless it must be.
    fn read(&self) -> Result<Option<String>, Error> {
        let Self { path, kind } = self;
        let what = match kind {
            Kind::Only | Kind::Credentials => "the credentials of AWS",
            Kind::Config => "the configuration of AWS",
        };
        let bytes = if *kind == Kind::Only {
            Some(elect_remote::read("the option credentials-file", path)?)
        } else if path == Path::new(NO_FILE) {
            Some(Vec::new())
        } else {
            elect_remote::read_instructions(what, path)?
        };
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn wrong(&self, why: &str) -> Error {
        unfit(format!("{} {why}", self.path.display()))
    }
}

/// The path that begins with `~/` in the home; `None` if there is no home.
fn expanded(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(path.into()),
    }
}

fn denied(what: String) -> Error {
    Error::new(ErrorKind::Denied, what)
}

/// The credentials that three settings are: a key, its secret, and a session. `None` if all are missing.
///
/// # Errors
/// One of the pair is missing. `place` says where.
pub(crate) fn keys(
    place: &str,
    [id, secret, session]: [&str; 3],
    value: impl Fn(&str) -> Option<String>,
) -> Result<Option<Credential>, Error> {
    let value = |name| value(name).filter(|value| !value.is_empty());
    let half = |has: &str, lacks: &str| {
        Err(denied(format!("{place} has {has} but no {lacks}: add it, or remove both")))
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

/// The settings of a profile in the text of such a file; `None` if it is not there. Settings that are nested in another
/// one are left out.
///
/// # Errors
/// The end of a sentence about the file. It quotes nothing, as a line may have a secret.
pub(crate) fn settings(
    text: &str,
    profile: &str,
) -> Result<Option<HashMap<String, String>>, String> {
    let (mut found, mut section) = (None::<HashMap<_, _>>, None::<bool>);
    for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let wrong = |why: &str| Err(format!("cannot be understood: line {} {why}", number + 1));
        if line.trim().is_empty() || line.trim_start().starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = line.trim().strip_prefix('[') {
            let Some((name, _)) = name.split_once(']') else { return wrong("lacks a ]") };
            let name = name.trim();
            let name = name.strip_prefix("profile ").map_or(name, str::trim);
            section = Some(name == profile);
            if name == profile {
                found.get_or_insert_default();
            }
            continue;
        }
        let Some(is_here) = section else { return wrong("is not below a [PROFILE]") };
        if line.starts_with([' ', '\t']) {
            continue;
        }
        let Some((key, value)) = line.split_once(['=', ':']) else {
            return wrong("is neither [PROFILE] nor NAME = VALUE");
        };
        if is_here {
            found.get_or_insert_default().insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    Ok(found)
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Credentials(elect_remote::in_full(&error))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, chown};

    use reqsign_core::StaticEnv;
    use tempfile::TempDir;

    use super::*;
    use crate::OPTIONS;
    use crate::sources::Sources;

    #[test]
    fn a_profile_has_its_own_settings() {
        let text = "[default]\nregion = eu-west-1\n# region = x\ns3 =\n  region = nested\n\
            [profile other]\nregion=us-east-2\n[sso-session other]\nsso_region = z\n[empty]\n";
        let region = |profile| {
            let found = settings(text, profile).expect("it is understood");
            found.map(|it| it.get("region").cloned())
        };
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
        let found = Sources::of("eu-west-1", &url).find(&context, |_| ()).await;
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
        let odd =
            &*file("odd", &format!("[default]\n{keys}").replace("aws_secret", "any\naws_secret"));
        let missing = &*folder.path().join("missing").display().to_string();
        let folder = &*folder.path().display().to_string();
        let (id, secret) = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
        let (shared, config) = ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE");
        let roled = &*file("roled", "[x]\nrole_arn = arn\nsource_profile = y\n");
        let token = "AWS_WEB_IDENTITY_TOKEN_FILE";
        let of = |file: &str| format!("credentials-file={file}");
        for (options, variables, expected) in [
            ("", &[][..], Err("the container: ")),
            ("", &[(shared, missing)], Err("the container: ")),
            ("", &[("AWS_PROFILE", "empty"), (shared, whole)], Err("the container: ")),
            ("", &[("AWS_PROFILE", "default"), (shared, missing)], Err("the container: ")),
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
            (
                "",
                &[("AWS_PROFILE", "x"), (shared, roled)],
                Err("has role_arn, which elect does not know"),
            ),
            ("", &[(token, "/t")], Err("but no AWS_ROLE_ARN")),
            ("profile=none", &[], Err("there is no profile none in ~/.aws: ")),
            ("profile=none", &[(config, whole)], Err("correct AWS_PROFILE, or the option profile")),
            (&of(missing), &[], Err("cannot read the option credentials-file, ")),
            ("profile=empty", &[(config, whole)], Err("the profile empty in ")),
            ("", &[(shared, odd)], Err("odd cannot be understood: line 3 is neither [PROFILE]")),
            (&of(odd), &[], Err("odd cannot be understood: line 3 is neither [PROFILE]")),
            ("", &[(shared, "/dev/null"), (config, "/dev/null")], Err("the container: ")),
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

    /// Such a file can have elect run a program, and lead it to another server.
    #[tokio::test]
    async fn files_that_another_user_may_write_are_not_obeyed() {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("file");
        let text = "[default]\naws_access_key_id = AKIA\naws_secret_access_key = any\n";
        std::fs::write(&path, text).expect("written");
        let shown = &*path.display().to_string();
        let change = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).expect("the mode");
        };
        for name in ["AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"] {
            let variables = &[(name, shown)];
            change(0o666);
            let why = found("", variables).await.expect_err("others can write it");
            assert!(why.contains("another user could have it run any program"), "{why}");
            assert!(why.contains("it can be written by others: chmod go-w it"), "{why}");
            change(0o600);
            assert_eq!(found("", variables).await.as_deref(), Ok("AKIA"));
            if is_root() {
                chown(&path, Some(12_345), None).expect("the owner");
                let why = found("", variables).await.expect_err("it is another user's");
                assert!(why.contains("belongs to user 12345"), "{why}");
                chown(&path, Some(0), None).expect("the owner");
            }
        }
    }

    /// Whether this process may give files away.
    fn is_root() -> bool {
        std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("this process"))
            == 0
    }
}
