//! Where credentials come from, and in which order.
//!
//! The library's own chain goes on to the next source when one fails. A pod whose web identity fails once would then get
//! the role of its machine. Here the first source that is set up decides, also if only a half of it is.

use std::collections::HashMap;
use std::path::Path;

use elect_remote::Url;
use reqsign_aws_v4::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider,
    IMDSv2CredentialProvider, SSOCredentialProvider,
};
use reqsign_core::{Context, ErrorKind, ProvideCredential};

use crate::Refused;
use crate::profile::{Profile, keys};
use crate::program::{self, Program};

/// What people read if there are none.
const NONE: &str = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the \
                    machine a role";
/// The variables that are keys.
pub(crate) const KEYS: [&str; 3] =
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
/// The variables that name the service of a container.
const CONTAINER: [&str; 2] =
    ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
/// The variable that names another service of metadata than that of the machine.
const METADATA: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
/// The settings of a profile that are a login by SSO.
const SSO: [&str; 4] = ["sso_account_id", "sso_region", "sso_role_name", "sso_start_url"];

/// The sources that count, each with its settings.
#[derive(Debug)]
pub(crate) struct Sources {
    url: Url,
    web_identity: AssumeRoleWithWebIdentityCredentialProvider,
    machine: IMDSv2CredentialProvider,
}

impl Sources {
    /// The sources for a region. The URL may name a profile, or a file of credentials: no others count then.
    pub(crate) fn of(region: &str, url: &Url) -> Self {
        let mut web_identity = AssumeRoleWithWebIdentityCredentialProvider::new()
            .with_region(region.to_owned())
            .with_regional_sts_endpoint();
        if std::env::var_os("AWS_ROLE_SESSION_NAME").is_none() {
            web_identity = web_identity.with_role_session_name("elect".to_owned());
        }
        Self { url: url.clone(), web_identity, machine: IMDSv2CredentialProvider::new() }
    }

    /// Finds credentials in the first source that is set up. `begin` is told of a program before it runs.
    ///
    /// # Errors
    /// That source fails, or none is set up.
    pub(crate) async fn find(
        &self,
        context: &Context,
        begin: impl FnOnce(&Program),
    ) -> Result<Credential, Refused> {
        let found = self.first(context, begin).await?;
        let found = found.ok_or_else(|| Refused::Credentials(NONE.to_owned()))?;
        let session_token = found.session_token.filter(|token| !token.is_empty());
        Ok(Credential { session_token, ..found })
    }

    async fn first(
        &self,
        context: &Context,
        begin: impl FnOnce(&Program),
    ) -> Result<Option<Credential>, Refused> {
        let are_all = are_all(&self.url);
        if are_all && let Some(found) = keys("the environment", KEYS, |name| context.env_var(name))?
        {
            return Ok(Some(found));
        }
        let home = context.home_dir();
        let profile = Profile::of(&self.url, |name| context.env_var(name), home.as_deref());
        let place = profile.in_words();
        let found = blocking(move || profile.find().map_err(Refused::from)).await?;
        if let Some(found) = found.keys {
            return Ok(Some(found));
        }
        if let Some(key) = STRANGE.into_iter().find(|&key| found.config.contains_key(key)) {
            return Err(Refused::Credentials(format!(
                "{place} has {key}, which elect does not know: take a profile of its own with {}",
                program::SETTING
            )));
        }
        if let Some(sso) = sso(&found.config, &place)? {
            return asked(&sso, context).await;
        }
        let has = |name: &str| context.env_var(name).is_some_and(|value| !value.is_empty());
        if are_all && has("AWS_WEB_IDENTITY_TOKEN_FILE") && !has("AWS_ROLE_ARN") {
            return Err(Refused::Credentials(
                "the environment has AWS_WEB_IDENTITY_TOKEN_FILE but no AWS_ROLE_ARN: set both, or neither"
                    .to_owned(),
            ));
        }
        if are_all && let Some(found) = asked(&self.web_identity, context).await? {
            return Ok(Some(found));
        }
        if let Some(setting) = found.config.get(program::SETTING) {
            let program = Program::of(setting, &place)?;
            begin(&program);
            return blocking(move || program.run()).await.map(Some);
        }
        if !are_all {
            return Err(Refused::Credentials(format!(
                "{place} has no credentials: write aws_access_key_id and aws_secret_access_key there, or {}",
                program::SETTING
            )));
        }
        if CONTAINER.iter().any(|name| context.env_var(name).is_some()) {
            return asked(&ECSCredentialProvider::new(), context).await;
        }
        let asked = asked(&self.machine, context).await;
        match asked {
            // Nothing answers on a machine elsewhere, and will not.
            Err(Refused::NoAnswer(why)) if !has_metadata(context) => {
                Err(Refused::Credentials(format!("{NONE} ({why})")))
            }
            asked => asked,
        }
    }
}

/// The settings of a profile that stand for credentials which elect does not find.
pub(crate) const STRANGE: [&str; 2] = ["sso_session", "role_arn"];

/// Whether variables and the surroundings count, too: the URL names no profile, and no file of credentials.
pub(crate) fn are_all(url: &Url) -> bool {
    url.option("credentials-file").is_none() && url.option("profile").is_none()
}

/// The login by SSO that a profile has.
///
/// # Errors
/// Half of it is missing.
fn sso(
    config: &HashMap<String, String>,
    place: &str,
) -> Result<Option<SSOCredentialProvider>, Refused> {
    let [account, region, role, start] = SSO.map(|key| config.get(key));
    let Some(account) = account else { return Ok(None) };
    let (Some(region), Some(role), Some(start)) = (region, role, start) else {
        let missing = SSO.into_iter().find(|&key| !config.contains_key(key)).unwrap_or_default();
        return Err(Refused::Credentials(format!(
            "{place} has {} but no {missing}: add it, or remove both",
            SSO[0]
        )));
    };
    let sso = SSOCredentialProvider::new().with_account_id(account).with_region(region);
    Ok(Some(sso.with_role_name(role).with_start_url(start)))
}

/// Does work that blocks on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refused> + Send + 'static,
) -> Result<T, Refused> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Refused::NoAnswer(error.to_string())))
}

/// Whether a service of metadata should answer: the machine is one of Amazon's, or a variable names one.
fn has_metadata(context: &Context) -> bool {
    let says = |path: &str, words: &str| {
        elect_system::path::read(Path::new(path))
            .is_ok_and(|text| String::from_utf8_lossy(&text).to_lowercase().starts_with(words))
    };
    context.env_var(METADATA).is_some()
        || says("/sys/devices/virtual/dmi/id/sys_vendor", "amazon")
        || says("/sys/hypervisor/uuid", "ec2")
}

async fn asked(
    source: &impl ProvideCredential<Credential = Credential>,
    context: &Context,
) -> Result<Option<Credential>, Refused> {
    source.provide_credential(context).await.map_err(|error| refused(&error))
}

/// What is wrong with credentials may be mended by a person, or pass by itself.
pub(crate) fn refused(error: &reqsign_core::Error) -> Refused {
    let why = elect_remote::in_full(error);
    match error.kind() {
        ErrorKind::RateLimited | ErrorKind::Unexpected => Refused::NoAnswer(why),
        _ => Refused::Credentials(why),
    }
}
