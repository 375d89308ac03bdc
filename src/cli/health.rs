use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueHint};
use hyper::Uri;

use super::CommandLine;
use super::number::whole;
use super::values::parse_period;

/// How a command, or an application beside us, is known to be well.
#[derive(Args, Clone, Debug)]
pub struct HealthArgs {
    /// Lead only while it answers a GET with success
    ///
    /// That is a status of 200 to 299. Of http:// URLs only.
    #[arg(long, env = "ELECT_HEALTH_HTTP", value_name = "URL", value_hint = ValueHint::Url, help_heading = HEALTH)]
    pub health_http: Option<HealthUrl>,

    /// Lead only while this exits with 0
    ///
    /// A command, whose words are split as a shell does it; it is executed without one.
    #[arg(long, env = "ELECT_HEALTH_CMD", value_name = "CMD", value_hint = ValueHint::CommandString, allow_hyphen_values = true, help_heading = HEALTH)]
    pub health_cmd: Option<CommandLine>,

    /// How often to check
    ///
    /// From the start of one check to that of the next; 10 ms at least.
    #[arg(long, env = "ELECT_HEALTH_INTERVAL", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "2s", help_heading = HEALTH)]
    pub health_interval: Duration,

    /// How long a check may take
    ///
    /// After that it has failed, and its command is killed; 10 ms at least.
    #[arg(long, env = "ELECT_HEALTH_TIMEOUT", value_name = "DUR", value_parser = parse_period, allow_hyphen_values = true, default_value = "2s", help_heading = HEALTH)]
    pub health_timeout: Duration,

    /// How many have to fail in a row
    ///
    /// After so many failures leadership is given up.
    #[arg(long, env = "ELECT_HEALTH_THRESHOLD", value_name = "N", value_parser = whole::<u32>(1..=u32::MAX.into()), default_value_t = 3, help_heading = HEALTH)]
    pub health_threshold: u32,
}

const HEALTH: &str = "Health";

/// What is asked whether the application is well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthUrl(Uri);

impl HealthUrl {
    /// The URL, which has the scheme `http` and a host.
    pub const fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for HealthUrl {
    /// Without what stands behind `?`, which may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.authority().map_or("", |authority| authority.as_str());
        write!(f, "http://{host}{}", self.0.path())
    }
}

impl FromStr for HealthUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let refuse = |why: &str| Err(format!("{why}; write http://127.0.0.1:8080/healthz"));
        let Ok(uri) = text.parse::<Uri>() else { return refuse("not a URL") };
        match (uri.scheme_str(), uri.authority()) {
            (Some("http"), Some(authority)) if authority.as_str().contains('@') => {
                refuse("a name or a password is not sent")
            }
            (Some("http"), Some(_)) => Ok(Self(uri)),
            (Some("https"), _) => refuse("TLS is not spoken with an application of this machine"),
            _ => refuse("not an http:// URL"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::HealthUrl;

    #[test]
    fn urls_of_an_application() {
        for good in ["http://127.0.0.1:8080/healthz", "http://[::1]/", "http://localhost?full=1"] {
            assert!(good.parse::<HealthUrl>().is_ok(), "{good}");
        }
        for bad in ["", "/healthz", "localhost:80", "https://a/", "ftp://a/", "http://me:pw@a/"] {
            let why = bad.parse::<HealthUrl>().unwrap_err();
            assert!(why.contains("http://127.0.0.1"), "{bad}: {why}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_not_shown() {
        let url: HealthUrl = "http://127.0.0.1:8080/healthz?token=secret".parse().unwrap();
        assert_eq!(url.to_string(), "http://127.0.0.1:8080/healthz");
        assert_eq!(url.uri().query(), Some("token=secret"));
    }
}
