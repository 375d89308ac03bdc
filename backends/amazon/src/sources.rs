//! Where credentials come from, and in which order.
//!
//! The library's own chain goes on to the next source when one fails. A pod whose web identity fails once would then get
//! the role of its machine. Here the first source that is set up decides, also if only a half of it is.

use std::path::Path;

use elect_remote::Url;
use reqsign_aws_v4::{
    AssumeRoleWithWebIdentityCredentialProvider, Credential, ECSCredentialProvider,
    IMDSv2CredentialProvider, ProcessCredentialProvider, SSOCredentialProvider,
};
use reqsign_core::{Context, ErrorKind, ProvideCredential};

use crate::Refused;
use crate::profile::{Profile, keys};

/// What people read if there are none.
const NONE: &str = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the \
                    machine a role";
/// The variables that are keys.
const KEYS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
/// The variables that name the service of a container.
const CONTAINER: [&str; 2] =
    ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"];
/// The variable that names another service of metadata than that of the machine.
const METADATA: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// The sources that count, each with its settings.
#[derive(Debug)]
pub(crate) struct Sources {
    /// Whether variables and the surroundings count as well.
    are_all: bool,
    profile: Profile,
    sso: Option<SSOCredentialProvider>,
    program: Option<ProcessCredentialProvider>,
    web_identity: AssumeRoleWithWebIdentityCredentialProvider,
    machine: IMDSv2CredentialProvider,
}

impl Sources {
    /// The sources for a region. The URL may name a profile, or a file of credentials: no others count then.
    pub(crate) fn of(region: &str, url: &Url) -> Self {
        let (path, name) = (url.option("credentials-file"), url.option("profile"));
        let (mut sso, mut program) =
            (SSOCredentialProvider::new(), ProcessCredentialProvider::new());
        if let Some(name) = name {
            (sso, program) = (sso.with_profile(name), program.with_profile(name));
        }
        let mut web_identity = AssumeRoleWithWebIdentityCredentialProvider::new()
            .with_region(region.to_owned())
            .with_regional_sts_endpoint();
        if std::env::var_os("AWS_ROLE_SESSION_NAME").is_none() {
            web_identity = web_identity.with_role_session_name("elect".to_owned());
        }
        Self {
            are_all: path.is_none() && name.is_none(),
            profile: Profile::of(url),
            sso: path.is_none().then_some(sso),
            program: path.is_none().then_some(program),
            web_identity,
            machine: IMDSv2CredentialProvider::new(),
        }
    }

    /// Finds credentials in the first source that is set up.
    ///
    /// # Errors
    /// That source fails, or none is set up.
    pub(crate) async fn find(&self, context: &Context) -> Result<Credential, Refused> {
        let found = self.first(context).await?;
        let found = found.ok_or_else(|| Refused::Credentials(NONE.to_owned()))?;
        let session_token = found.session_token.filter(|token| !token.is_empty());
        Ok(Credential { session_token, ..found })
    }

    async fn first(&self, context: &Context) -> Result<Option<Credential>, Refused> {
        if self.are_all
            && let Some(found) = keys("the environment", KEYS, |name| context.env_var(name))?
        {
            return Ok(Some(found));
        }
        if let Some(found) = self.profile.keys(context).await? {
            return Ok(Some(found));
        }
        if let Some(sso) = &self.sso
            && let Some(found) = asked(sso, context).await?
        {
            return Ok(Some(found));
        }
        if self.are_all
            && let Some(found) = asked(&self.web_identity, context).await?
        {
            return Ok(Some(found));
        }
        if let Some(program) = &self.program
            && let Some(found) = asked(program, context).await?
        {
            return Ok(Some(found));
        }
        if !self.are_all {
            return Ok(None);
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
