//! The URL of a store on a service of Amazon's, with what Amazon's own variables and files add.

use std::path::{Path, PathBuf};

use elect_api::{Error, Finding, Order, StoreId};
use elect_remote::{
    Address, Demand, Destination, Encryption, Host, Product, Settings, Url, Wanted, Way, is_open,
    unfit,
};

use crate::NAMES;
use crate::profile::{self, Profile};
use crate::sources::{KEYS, STRANGE, are_all};

/// The options that the URL of each service may have.
pub const OPTIONS: &[&str] = &[
    "allow-plain",
    "ca",
    "credentials-file",
    "endpoint",
    "order",
    "profile",
    "region",
    StoreId::OPTION,
];
const HTTPS: u16 = 443;
const HTTP: u16 = 80;

/// A service, and what the URL names there.
pub struct Service<'a> {
    /// The kind of store.
    pub product: &'a Product,
    /// The first word of the service's hosts.
    pub name: &'a str,
    /// The table or the bucket.
    pub part: String,
    /// The same as people see it in the URL.
    pub shown: String,
}

impl Service<'_> {
    /// The part of the service that stands in a URL where others have a host, if nothing else is there. A path may
    /// follow.
    pub fn part(settings: &Settings<'_>) -> Option<String> {
        let url = &settings.url;
        let is_alone = settings.names_hosts && url.user.is_none() && url.password.is_none();
        match &url.hosts[..] {
            [host] if is_alone && host.port == 0 => Some(host.name.clone()),
            _ => None,
        }
    }

    /// The address of the service. `place` makes of its host, or of the endpoint's, the one that is dialled.
    ///
    /// # Errors
    /// `Unfit` or `Denied`, with a message that names the wrong part.
    pub fn address(
        self,
        mut settings: Settings<'_>,
        place: impl FnOnce(Host) -> Host,
    ) -> Result<Address, Error> {
        let Self { product, name, part, shown } = self;
        let profile = settings.get("profile").unwrap_or_else(|| profile::DEFAULT.to_owned());
        let home = settings.variable("HOME").map(PathBuf::from);
        profile::configure(&mut settings, &profile, home.as_deref())?;
        let cautions = exposure(&settings, home.as_deref())?;
        known_profile(&settings, &profile)?;
        let region = region(&settings)?;
        let queue = if order(&settings.url)? == Order::Queue { "&order=queue" } else { "" };
        let endpoint = settings.get("endpoint").or_else(|| settings.variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| settings.in_file("endpoint_url").map(str::to_owned));
        let other = endpoint.as_ref().map(|it| format!("&endpoint={it}")).unwrap_or_default();
        let (host, is_secured) = if let Some(endpoint) = &endpoint {
            host(endpoint)?
        } else {
            usual_endpoint(&settings, name, &region)?;
            (of_region(name, &region), true)
        };
        if !is_secured && !host.is_loopback() && !settings.url.flag("allow-plain")? {
            return Err(unfit(format!(
                "the endpoint {host} is reached without TLS, so anyone on the way can change who leads: write \
                 https://, or accept it with the option allow-plain"
            )));
        }
        let wanted = Wanted {
            demand: if is_secured { Demand::Name } else { Demand::Off },
            setting: "the endpoint".to_owned(),
            better: "https://",
            files: [settings.get("ca").filter(|_| is_secured), None, None],
            server_name: None,
        };
        let host = place(host);
        let encryption = Encryption::new(&wanted, NAMES, std::slice::from_ref(&host))?;
        Ok(Address {
            location: format!("{}://{shown}?region={region}{queue}{other}", product.scheme),
            destinations: vec![Destination { way: Way::Network(host), password: None }],
            database: part,
            space: region,
            user: String::new(),
            encryption,
            store: StoreId::of_option(settings.url.option(StoreId::OPTION))?,
            cautions,
            url: settings.url,
        })
    }
}

/// The warning that everybody can read the file with the keys.
///
/// # Errors
/// The files have no good credentials, as the signer would say later.
fn exposure(settings: &Settings<'_>, home: Option<&Path>) -> Result<Vec<Finding>, Error> {
    let has_keys = KEYS[..2].iter().any(|name| settings.variable(name).is_some());
    if has_keys && are_all(&settings.url) {
        return Ok(Vec::new());
    }
    let profile = Profile::of(&settings.url, |name| settings.variable(name), home);
    let open = profile.find()?.file.filter(|path| is_open(path));
    let told = open.map(|path| {
        let what = format!("everybody can read the credentials in {}", path.display());
        Finding::warning(what, "chmod o-r it")
    });
    Ok(told.into_iter().collect())
}

/// Who leads next: the candidate that asks first, or the first of a queue, which costs more requests.
///
/// # Errors
/// `Unfit` if the option has another word.
pub fn order(url: &Url) -> Result<Order, Error> {
    match url.option("order") {
        None | Some("race") => Ok(Order::Race),
        Some("queue") => Ok(Order::Queue),
        Some(other) => Err(unfit(format!("the option order is race or queue, not {other:?}"))),
    }
}

/// The region, as Amazon's tools find it: a variable comes before the file. Another region would be another store.
fn region(settings: &Settings<'_>) -> Result<String, Error> {
    let given = settings.url.option("region").map(str::to_owned);
    let variable =
        || ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().find_map(|it| settings.variable(it));
    let in_file = || settings.in_file("region").map(str::to_owned);
    let region = given.or_else(variable).or_else(in_file).ok_or_else(|| {
        unfit("the region is missing: add ?region=REGION to the URL, or set AWS_REGION")
    })?;
    let is_letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    if region.chars().all(|letter| is_letter(letter) || letter == '-') && !region.is_empty() {
        return Ok(region);
    }
    Err(unfit(format!("the region {region:?} is not one, such as eu-west-1")))
}

/// Refuses a profile whose credentials elect would not find, as it would take those of the machine instead.
fn known_profile(settings: &Settings<'_>, profile: &str) -> Result<(), Error> {
    let has_keys = settings.variable("AWS_ACCESS_KEY_ID").is_some()
        || settings.in_file("aws_access_key_id").is_some()
        || settings.url.option("credentials-file").is_some();
    let strange = STRANGE.into_iter().find(|key| settings.in_file(key).is_some());
    match strange {
        Some(key) if !has_keys => Err(unfit(format!(
            "the profile {profile} has {key}, which elect does not know"
        ))
        .and(format!(
            "take a profile of its own with the line credential_process = aws configure export-credentials --profile \
             {profile}"
        ))),
        _ => Ok(()),
    }
}

/// Refuses variables that ask for other hosts than the usual one of a region.
fn usual_endpoint(settings: &Settings<'_>, service: &str, region: &str) -> Result<(), Error> {
    // S3 has its hosts for both protocols elsewhere.
    let dual = if service == "s3" {
        format!("s3.dualstack.{region}.amazonaws.com")
    } else {
        format!("{service}.{region}.api.aws")
    };
    for (variable, host) in [
        ("AWS_USE_FIPS_ENDPOINT", format!("{service}-fips.{region}.amazonaws.com")),
        ("AWS_USE_DUALSTACK_ENDPOINT", dual),
    ] {
        if settings.variable(variable).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err(unfit(format!("{variable} is set, which elect does not know"))
                .and(format!("name the host that you mean, as in endpoint=https://{host}")));
        }
    }
    Ok(())
}

fn of_region(service: &str, region: &str) -> Host {
    let domain = match region.split('-').next() {
        Some("cn") => "amazonaws.com.cn",
        Some("eusc") => "amazonaws.eu",
        _ if region.starts_with("us-iso-") => "c2s.ic.gov",
        _ if region.starts_with("us-isob-") => "sc2s.sgov.gov",
        _ if region.starts_with("eu-isoe-") => "cloud.adc-e.uk",
        _ if region.starts_with("us-isof-") => "csp.hci.ic.gov",
        _ => "amazonaws.com",
    };
    Host { name: format!("{service}.{region}.{domain}"), port: HTTPS }
}

/// The host of an endpoint, and whether it is reached by TLS.
fn host(endpoint: &str) -> Result<(Host, bool), Error> {
    let wrong = |why: &str| unfit(format!("the endpoint is no https://HOST[:PORT]: {why}"));
    // No message quotes it, as it may have a secret.
    if endpoint.contains('@') {
        return Err(wrong(
            "it has no user and no password, as credentials come from Amazon's variables and files",
        ));
    }
    let is_secured = endpoint.starts_with("https://");
    if !is_secured && !endpoint.starts_with("http://") {
        return Err(wrong("it begins with https://, or http:// on this machine"));
    }
    let port = if is_secured { HTTPS } else { HTTP };
    let url = Url::parse(endpoint, port, &[]).map_err(|error| wrong(&error.to_string()))?;
    match &url.hosts[..] {
        [host] if matches!(&*url.path, "" | "/") => Ok((host.clone(), is_secured)),
        _ => Err(wrong("it names one host, and no path")),
    }
}
