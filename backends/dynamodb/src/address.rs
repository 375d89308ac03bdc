//! The URL of a table, and Amazon's own variables and files.

use elect_api::{Error, Order, StoreId};
use elect_remote::{
    Address, Demand, Encryption, Host, Place, Settings, Url, Variable, Wanted, Way, unfit,
};

use crate::{PRODUCT, profile};

/// The options that a URL may have.
pub(crate) const OPTIONS: &[&str] = &[
    "allow-plain",
    "ca",
    "credentials-file",
    "endpoint",
    "order",
    "profile",
    "region",
    StoreId::OPTION,
];
/// The settings that a variable of Amazon's has, too. The first that is set counts.
const VARIABLES: &[(&str, &str)] = &[
    ("ca", "AWS_CA_BUNDLE"),
    ("endpoint", "AWS_ENDPOINT_URL_DYNAMODB"),
    ("profile", "AWS_PROFILE"),
];
const HTTPS: u16 = 443;
const HTTP: u16 = 80;

/// Reads a URL, and the files that it names. `variable` reads the environment.
///
/// # Errors
/// `Unfit` or `Denied`, with a message that names the wrong part.
pub(crate) fn parse(text: &str, variable: Variable<'_>) -> Result<Address, Error> {
    let mut settings = Settings::of(text, OPTIONS, VARIABLES, variable)?;
    let table = table(&settings)?;
    let profile = settings.get("profile").unwrap_or_else(|| profile::DEFAULT.to_owned());
    let config = settings.variable("AWS_CONFIG_FILE").map(Into::into);
    if let Some(path) = config.or_else(|| settings.at_home(".aws/config")) {
        settings.add_file("the configuration of AWS", path, |text| {
            Ok(profile::settings(text, &profile))
        })?;
    }
    known_profile(&settings, &profile)?;
    let region = region(&settings)?;
    let queue = if order(&settings.url)? == Order::Queue { "&order=queue" } else { "" };
    let endpoint = settings.get("endpoint").or_else(|| settings.variable("AWS_ENDPOINT_URL"));
    let endpoint = endpoint.or_else(|| settings.in_file("endpoint_url").map(str::to_owned));
    let shown = endpoint.as_ref().map(|it| format!("&endpoint={it}")).unwrap_or_default();
    let (host, is_secured) = if let Some(endpoint) = &endpoint {
        host(endpoint)?
    } else {
        usual_endpoint(&settings, &region)?;
        (of_region(&region), true)
    };
    if !is_secured && !host.is_loopback() && !settings.url.flag("allow-plain")? {
        return Err(unfit(format!(
            "the endpoint {host} is reached without TLS, so anyone on the way can change who leads: write https://, or \
             accept it with the option allow-plain"
        )));
    }
    let wanted = Wanted {
        demand: if is_secured { Demand::Name } else { Demand::Off },
        setting: "the endpoint".to_owned(),
        better: "https://",
        files: [settings.get("ca").filter(|_| is_secured), None, None],
        server_name: None,
    };
    let encryption = Encryption::new(&wanted, PRODUCT.names, std::slice::from_ref(&host))?;
    Ok(Address {
        location: format!("{}://{table}?region={region}{queue}{shown}", PRODUCT.scheme),
        places: vec![Place { way: Way::Network(host), password: None }],
        database: table,
        space: region,
        user: String::new(),
        encryption,
        store: StoreId::of_option(settings.url.option(StoreId::OPTION))?,
        cautions: Vec::new(),
        url: settings.url,
    })
}

/// Who leads next: the candidate that asks first, or the first of a queue, which costs more requests.
///
/// # Errors
/// `Unfit` if the option has another word.
pub(crate) fn order(url: &Url) -> Result<Order, Error> {
    match url.option("order") {
        None | Some("race") => Ok(Order::Race),
        Some("queue") => Ok(Order::Queue),
        Some(other) => Err(unfit(format!("the option order is race or queue, not {other:?}"))),
    }
}

/// The name of the table, which stands where other URLs have a host.
fn table(settings: &Settings<'_>) -> Result<String, Error> {
    let url = &settings.url;
    let [host] = &url.hosts[..] else { return Err(unfit("the URL names one table")) };
    let is_alone = host.port == 0 && matches!(&*url.path, "" | "/");
    if !settings.names_hosts || !is_alone || url.user.is_some() || url.password.is_some() {
        return Err(unfit(
            "the URL is dynamodb://TABLE, and what else it takes are options, as in ?region=eu-west-1; credentials come \
             from Amazon's variables and files",
        ));
    }
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if !(3..=255).contains(&host.name.len()) || !host.name.chars().all(is_letter) {
        return Err(unfit(
            "the name of a table has 3 to 255 letters, digits and the characters _-.",
        ));
    }
    Ok(host.name.clone())
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
    let strange =
        ["sso_session", "role_arn"].into_iter().find(|key| settings.in_file(key).is_some());
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
fn usual_endpoint(settings: &Settings<'_>, region: &str) -> Result<(), Error> {
    for (variable, host) in [
        ("AWS_USE_FIPS_ENDPOINT", format!("dynamodb-fips.{region}.amazonaws.com")),
        ("AWS_USE_DUALSTACK_ENDPOINT", format!("dynamodb.{region}.api.aws")),
    ] {
        if settings.variable(variable).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            return Err(unfit(format!("{variable} is set, which elect does not know"))
                .and(format!("name the host that you mean, as in endpoint=https://{host}")));
        }
    }
    Ok(())
}

fn of_region(region: &str) -> Host {
    let domain = match region.split('-').next() {
        Some("cn") => "amazonaws.com.cn",
        Some("eusc") => "amazonaws.eu",
        _ if region.starts_with("us-iso-") => "c2s.ic.gov",
        _ if region.starts_with("us-isob-") => "sc2s.sgov.gov",
        _ if region.starts_with("eu-isoe-") => "cloud.adc-e.uk",
        _ if region.starts_with("us-isof-") => "csp.hci.ic.gov",
        _ => "amazonaws.com",
    };
    Host { name: format!("dynamodb.{region}.{domain}"), port: HTTPS }
}

/// The host of an endpoint, and whether it is reached by TLS.
fn host(endpoint: &str) -> Result<(Host, bool), Error> {
    let wrong = |why: &str| unfit(format!("the endpoint is no https://HOST[:PORT]: {why}"));
    let is_secured = endpoint.starts_with("https://");
    if !is_secured && !endpoint.starts_with("http://") {
        return Err(wrong("it begins with https://, or http:// on this machine"));
    }
    let port = if is_secured { HTTPS } else { HTTP };
    let url = Url::parse(endpoint, port, &[]).map_err(|error| wrong(&error.to_string()))?;
    match &url.hosts[..] {
        [host] if matches!(&*url.path, "" | "/") && url.user.is_none() => {
            Ok((host.clone(), is_secured))
        }
        _ => Err(wrong("it names one host, and no path")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, variables: &[(&str, &str)]) -> Result<Address, Error> {
        super::parse(url, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_a_url_leaves_out_is_what_amazon_s_tools_take() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, host, location) in [
            (
                "dynamodb://elect?region=us-east-2",
                &[][..],
                "dynamodb.us-east-2.amazonaws.com:443",
                "dynamodb://elect?region=us-east-2",
            ),
            (
                "dynamodb://Elect_1",
                &[region],
                "dynamodb.eu-west-1.amazonaws.com:443",
                "dynamodb://Elect_1?region=eu-west-1",
            ),
            (
                "dynamodb://elect",
                &[("AWS_DEFAULT_REGION", "cn-north-1")],
                "dynamodb.cn-north-1.amazonaws.com.cn:443",
                "dynamodb://elect?region=cn-north-1",
            ),
            (
                "dynamodb://elect?endpoint=http://localhost:8000",
                &[region],
                "localhost:8000",
                "dynamodb://elect?region=eu-west-1&endpoint=http://localhost:8000",
            ),
            (
                "dynamodb://elect?order=queue",
                &[region],
                "dynamodb.eu-west-1.amazonaws.com:443",
                "dynamodb://elect?region=eu-west-1&order=queue",
            ),
            (
                "dynamodb://elect",
                &[region, ("AWS_ENDPOINT_URL", "https://a:9")],
                "a:9",
                "dynamodb://elect?region=eu-west-1&endpoint=https://a:9",
            ),
        ] {
            let address = parse(url, variables).unwrap_or_else(|error| panic!("{url}: {error}"));
            assert_eq!(address.places[0].way.to_string(), host, "{url}");
            assert_eq!(address.location, location, "{url}");
        }
    }

    #[test]
    fn the_region_is_that_of_the_url_or_a_variable_or_the_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "[default]\nregion = of-file\n").expect("written");
        let file = ("AWS_CONFIG_FILE", file.path().to_str().expect("a path"));
        let (variable, usual) = (("AWS_REGION", "of-variable"), ("AWS_DEFAULT_REGION", "usual"));
        for (url, variables, region) in [
            ("dynamodb://elect?region=of-url", &[file, usual, variable][..], "of-url"),
            ("dynamodb://elect", &[file, usual, variable], "of-variable"),
            ("dynamodb://elect", &[file, usual], "usual"),
            ("dynamodb://elect", &[file], "of-file"),
        ] {
            assert_eq!(parse(url, variables).expect(url).space, region, "{url}, {variables:?}");
        }
    }

    #[test]
    fn a_profile_whose_credentials_are_not_found_is_refused() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text =
            "[profile a]\nsso_session = b\n[profile c]\nrole_arn = d\n[profile e]\noutput = json\n";
        std::fs::write(&file, text).expect("written");
        let region = ("AWS_REGION", "eu-west-1");
        let file = ("AWS_CONFIG_FILE", file.path().to_str().expect("a path"));
        for (profile, why) in [("a", "has sso_session"), ("c", "has role_arn")] {
            let chosen = ("AWS_PROFILE", profile);
            let error = parse("dynamodb://elect", &[region, file, chosen]).err().expect(profile);
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.to_string().contains("export-credentials"), "{error}");
            let key = ("AWS_ACCESS_KEY_ID", "AKIA");
            parse("dynamodb://elect", &[region, file, chosen, key]).expect("it has keys");
        }
        parse("dynamodb://elect?profile=e", &[region, file]).expect("elect knows it");
    }

    #[test]
    fn a_url_that_means_no_table_is_refused() {
        let region = ("AWS_REGION", "eu-west-1");
        for (url, variables, why) in [
            ("dynamodb://elect", &[][..], "the region is missing"),
            ("dynamodb://elect?region=EU", &[], "the region"),
            ("dynamodb://", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://a,b", &[region], "names one table"),
            ("dynamodb://elect/x", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://elect:1", &[region], "the URL is dynamodb://TABLE"),
            ("dynamodb://key:secret@elect", &[region], "credentials come from"),
            ("dynamodb://el", &[region], "the name of a table"),
            ("dynamodb://elect?endpoint=http://a", &[region], "without TLS"),
            ("dynamodb://elect?order=first", &[region], "race or queue"),
            (
                "dynamodb://elect",
                &[region, ("AWS_USE_FIPS_ENDPOINT", "true")],
                "dynamodb-fips.eu-west-1",
            ),
            ("dynamodb://elect", &[region, ("AWS_USE_DUALSTACK_ENDPOINT", "True")], "api.aws"),
            ("dynamodb://elect?endpoint=a:1", &[region], "begins with https://"),
            ("dynamodb://elect?endpoint=https://a/b", &[region], "no path"),
        ] {
            let error = parse(url, variables).err().expect(url);
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
        let plain = "dynamodb://elect?endpoint=http://a&allow-plain";
        parse(plain, &[region]).expect("accepted");
    }
}
